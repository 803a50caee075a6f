// Files of the origin private file system, for a worker: flushed writes, atomic moves, locks.

/** @typedef {{ name: string, isFolder: boolean, size: number }} Entry */

/**
 * The files under one folder of OPFS.
 * @param {string} root names joined by "/"; "" is OPFS itself
 */
export async function openFiles(root) {
  if (!("createSyncAccessHandle" in FileSystemFileHandle.prototype)) {
    throw new DOMException("no access handles here, as on a page's main thread",
      "NotSupportedError");
  }
  return new Files(await navigator.storage.getDirectory(), root ? root.split("/") : []);
}

/** Whether an error says that something is not there.
 * @param {unknown} error
 */
const isMissing = (error) => error instanceof DOMException && error.name === "NotFoundError";

/** Locks that this worker is giving back, until the browser has taken them: a lock that is asked
 * for again at once would else look as if another tab had it.
 * @type {Map<string, Promise<void>>}
 */
const releases = new Map();

export class Files {
  /**
   * @param {FileSystemDirectoryHandle} top
   * @param {string[]} root
   */
  constructor(top, root) {
    this.top = top;
    this.root = root;
  }

  /**
   * @param {string[]} parts
   * @param {boolean} create
   */
  async folder(parts, create) {
    let handle = this.top;
    for (const part of [...this.root, ...parts]) {
      handle = await handle.getDirectoryHandle(part, { create });
    }
    return handle;
  }

  /**
   * @param {string} path
   * @param {boolean} create
   */
  async file(path, create) {
    const parts = path.split("/");
    const name = /** @type {string} */ (parts.pop());
    return (await this.folder(parts, create)).getFileHandle(name, { create });
  }

  /**
   * @param {string} path
   * @returns {Promise<Uint8Array>}
   */
  async read(path) {
    const file = await (await this.file(path, false)).getFile();
    return new Uint8Array(await file.arrayBuffer());
  }

  /**
   * A part of a file; shorter when the file ends before.
   * @param {string} path
   * @param {number} offset
   * @param {number} size
   * @returns {Promise<Uint8Array>}
   */
  async readRange(path, offset, size) {
    const file = await (await this.file(path, false)).getFile();
    return new Uint8Array(await file.slice(offset, offset + size).arrayBuffer());
  }

  /** @param {string} path */
  async size(path) {
    return (await (await this.file(path, false)).getFile()).size;
  }

  /**
   * Opens a file for writing from its start; the old contents go.
   * @param {string} path
   */
  async write(path) {
    const handle = await (await this.file(path, true)).createSyncAccessHandle();
    try {
      handle.truncate(0);
    } catch (error) {
      handle.close();
      throw error;
    }
    return new Writer(handle);
  }

  /**
   * Moves a file over another in one step.
   * @param {string} source
   * @param {string} target
   */
  async replace(source, target) {
    const parts = target.split("/");
    const name = /** @type {string} */ (parts.pop());
    const folder = await this.folder(parts, true);
    const handle = await this.file(source, false);
    // `move` is in Chromium, Firefox and Safari, but not yet in TypeScript's library.
    await /** @type {any} */ (handle).move(folder, name);
  }

  /** @param {string} path */
  async remove(path) {
    const parts = path.split("/");
    const name = /** @type {string} */ (parts.pop());
    try {
      await (await this.folder(parts, false)).removeEntry(name, { recursive: true });
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  /**
   * @param {string} path
   * @returns {Promise<string>} JSON list of entries
   */
  async list(path) {
    /** @type {Entry[]} */
    const entries = [];
    try {
      const folder = await this.folder(path ? path.split("/") : [], false);
      for await (const [name, handle] of folder.entries()) {
        const isFolder = handle.kind === "directory";
        const size = isFolder ? 0
          : (await /** @type {FileSystemFileHandle} */ (handle).getFile()).size;
        entries.push({ name, isFolder, size });
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    return JSON.stringify(entries);
  }

  /**
   * @param {string} path
   * @returns {Promise<boolean>}
   */
  async exists(path) {
    const parts = path.split("/");
    const name = /** @type {string} */ (parts.pop());
    try {
      const folder = await this.folder(parts, false);
      for await (const key of folder.keys()) if (key === name) return true;
      return false;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /**
   * Holds a name against all other tabs.
   * @param {string} name
   * @returns {Promise<(() => void) | undefined>} the release, or undefined when one of them has it
   */
  async lock(name) {
    const full = `tabgrad/${this.root.join("/")}/${name}`;
    await releases.get(full);
    return new Promise((resolve, reject) => {
      const held = navigator.locks.request(full, { ifAvailable: true }, (lock) => {
        if (!lock) {
          resolve(undefined);
          return undefined;
        }
        return new Promise((release) => resolve(() => {
          releases.set(full, held.then(() => void releases.delete(full)));
          release(undefined);
        }));
      });
      held.catch(reject);
    });
  }

  /** @returns {Promise<string>} JSON [bytes used, quota or null] */
  async usage() {
    const { usage, quota } = await navigator.storage.estimate();
    return JSON.stringify([usage ?? 0, quota ?? null]);
  }
}

class Writer {
  /** @param {FileSystemSyncAccessHandle} handle */
  constructor(handle) {
    this.handle = handle;
    this.at = 0;
  }

  /** @param {Uint8Array<ArrayBuffer>} data */
  write(data) {
    let done = 0;
    while (done < data.byteLength) {
      const count = this.handle.write(data.subarray(done), { at: this.at });
      if (count === 0) throw new DOMException("The disk took no more bytes.", "QuotaExceededError");
      done += count;
      this.at += count;
    }
  }

  /** Flushes to the disk and lets the file go. */
  close() {
    try {
      this.handle.flush();
    } finally {
      this.handle.close();
    }
    return this.at;
  }
}
