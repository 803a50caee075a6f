// Writes what the worker packed straight into a folder that the person picks, where that can be.

const LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50;
const END_BYTES = 22, CENTRAL_BYTES = 46, LOCAL_BYTES = 30;

/** Whether this browser lets a page write into a folder of the person's choice. */
export const canPickFolder = () => "showDirectoryPicker" in globalThis;

/**
 * The files of an archive of ours: stored, not deflated, all under one top folder.
 * @param {Uint8Array} zip
 * @returns {{ folder: string, files: Map<string, Uint8Array> }} names without the folder; views of
 *   the same memory
 */
export function unpackStored(zip) {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  const end = zip.byteLength - END_BYTES;
  if (end < 0 || view.getUint32(end, true) !== END) throw new Error("This is no archive of ours.");
  const text = new TextDecoder();
  const files = new Map();
  let folder = "";
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
    if (view.getUint32(at, true) !== CENTRAL) throw new Error("The archive's list is damaged.");
    const [method, size] = [view.getUint16(at + 10, true), view.getUint32(at + 20, true)];
    const [name, extra, comment] = [28, 30, 32].map((field) => view.getUint16(at + field, true));
    const start = view.getUint32(at + 42, true);
    const path = text.decode(zip.subarray(at + CENTRAL_BYTES, at + CENTRAL_BYTES + name));
    const [top, file, ...more] = path.split("/");
    if (method !== 0 || !file || more.length > 0 || view.getUint32(start, true) !== LOCAL) {
      throw new Error(`${path} is not stored as our archives store files.`);
    }
    const data = start + LOCAL_BYTES + view.getUint16(start + 26, true)
      + view.getUint16(start + 28, true);
    folder = top;
    files.set(file, zip.subarray(data, data + size));
    at += CENTRAL_BYTES + name + extra + comment;
  }
  return { folder, files };
}

/**
 * Asks for a place. Call it in the click itself: a browser allows the question only then.
 * @returns {Promise<FileSystemDirectoryHandle | null>} null when the person thought better of it
 */
export async function pickFolder() {
  try {
    return await /** @type {any} */ (globalThis).showDirectoryPicker({ mode: "readwrite" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return null;
    throw error;
  }
}

/**
 * Writes an archive of ours as a folder inside a place.
 * @param {FileSystemDirectoryHandle} place
 * @param {Uint8Array} zip
 * @param {(done: number, total: number) => void} progress bytes
 * @returns {Promise<string>} the folder's name
 */
export async function writeFolder(place, zip, progress) {
  const { folder, files } = unpackStored(zip);
  const home = await place.getDirectoryHandle(folder, { create: true });
  const total = [...files.values()].reduce((sum, data) => sum + data.byteLength, 0);
  let done = 0;
  for (const [name, data] of files) {
    const handle = await home.getFileHandle(name, { create: true });
    const stream = await handle.createWritable();
    await stream.write(/** @type {any} */ (data));
    await stream.close();
    done += data.byteLength;
    progress(done, total);
  }
  return folder;
}
