/** Files that were dropped or chosen: read from folders, and looked through for a model. */

/** @typedef {{path: string, file: File}} Found */

/** Folders in folders are looked into this far, and no more files than this are taken. */
const DEPTH = 4;
const MOST_FILES = 5_000;

/**
 * @param {FileSystemFileEntry} entry
 * @returns {Promise<File>}
 */
function fileOf(entry) {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/**
 * @param {FileSystemDirectoryEntry} entry
 * @returns {Promise<FileSystemEntry[]>}
 */
async function childrenOf(entry) {
  const reader = entry.createReader();
  /** @type {FileSystemEntry[]} */
  const all = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0 || all.length > MOST_FILES) return all;
    all.push(...some);
  }
}

/**
 * @param {FileSystemEntry} entry
 * @param {string} path
 * @param {number} depth
 * @param {Found[]} found grows
 */
async function walk(entry, path, depth, found) {
  if (found.length >= MOST_FILES) return;
  if (entry.isFile) {
    found.push({ path, file: await fileOf(/** @type {FileSystemFileEntry} */ (entry)) });
  } else if (depth < DEPTH) {
    for (const child of await childrenOf(/** @type {FileSystemDirectoryEntry} */ (entry))) {
      await walk(child, `${path}/${child.name}`, depth + 1, found);
    }
  }
}

/**
 * All files of a drop; `hasFolder` says whether one of the things dropped was a folder. What was
 * dropped is taken before the first pause: afterwards the browser forgets it.
 * @param {DataTransfer} transfer
 * @returns {Promise<{found: Found[], hasFolder: boolean}>}
 */
export async function readDropped(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const taken = items.map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  /** @type {Found[]} */
  const found = [];
  let hasFolder = false;
  for (const { entry, file } of taken) {
    if (entry?.isDirectory) {
      hasFolder = true;
      await walk(entry, entry.name, 0, found);
    } else if (file) {
      found.push({ path: file.name, file });
    }
  }
  return { found, hasFolder };
}

/**
 * Files of an `<input type="file">`, with the paths that a chosen folder gives them.
 * @param {FileList} files
 * @returns {Found[]}
 */
export function readChosen(files) {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** @param {string} path */
function folderOf(path) {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/**
 * The folder that is a model: the outermost with config.json, else the outermost with weights.
 * @param {Found[]} found
 * @returns {{title: string, files: File[]} | null} the title is empty where there is no folder
 */
export function modelAmong(found) {
  const outermost = (/** @type {(file: File) => boolean} */ wanted) => found
    .filter(({ file }) => wanted(file)).map(({ path }) => folderOf(path))
    .sort((a, b) => a.split("/").length - b.split("/").length)[0];
  const folder = outermost((file) => file.name === "config.json")
    ?? outermost((file) => file.name.endsWith(".safetensors"));
  if (folder === undefined) return null;
  return {
    title: folder.slice(folder.lastIndexOf("/") + 1),
    files: found.filter(({ path }) => folderOf(path) === folder).map(({ file }) => file),
  };
}
