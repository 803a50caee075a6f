// A file on its way: `<path>.part` with what has come, `<path>.part.journal` with which pieces.

import { fileFailure } from "./failure.js";

/** The file comes in pieces of this length; the last one is shorter. */
export const CHUNK_BYTES = 16 * 2 ** 20;

/** Which file this is, as the first line of the journal says it.
 * @typedef {{ url: string, size: number, validator: string | null, sha256: string | null,
 *   chunk: number }} Identity
 */

/** The bytes that are kept, so that a download can go on after the tab was killed.
 *
 * The journal grows only: one line of JSON, then one line for each piece that is on the disk. A
 * line that was cut off in the middle is passed over, and its piece comes again.
 */
export class PartFile {
  /**
   * @param {import("../opfs.js").Files} files
   * @param {string} path
   * @param {FileSystemSyncAccessHandle} data
   * @param {FileSystemSyncAccessHandle} journal
   */
  constructor(files, path, data, journal) {
    this.files = files;
    this.path = path;
    this.data = data;
    this.journal = journal;
    /** @type {Identity | null} */
    this.identity = null;
    /** @type {Set<number>} */
    this.done = new Set();
    this.read();
  }

  /**
   * @param {import("../opfs.js").Files} files
   * @param {string} path
   */
  static async open(files, path) {
    try {
      const data = await (await files.file(`${path}.part`, true)).createSyncAccessHandle();
      try {
        const file = await files.file(`${path}.part.journal`, true);
        return new PartFile(files, path, data, await file.createSyncAccessHandle());
      } catch (error) {
        data.close();
        throw error;
      }
    } catch (error) {
      throw fileFailure(error);
    }
  }

  read() {
    const bytes = new Uint8Array(this.journal.getSize());
    this.journal.read(bytes, { at: 0 });
    const [first, ...lines] = new TextDecoder().decode(bytes).split("\n").slice(0, -1);
    const identity = first === undefined ? null : parsed(first);
    if (!identity || identity.chunk !== CHUNK_BYTES || this.data.getSize() !== identity.size) {
      return;
    }
    this.identity = identity;
    for (const line of lines) {
      const index = Number(line);
      if (Number.isInteger(index) && index < this.count) this.done.add(index);
    }
  }

  get size() {
    return this.identity?.size ?? 0;
  }

  get count() {
    return Math.ceil(this.size / CHUNK_BYTES);
  }

  /** @param {number} index @returns {[start: number, end: number]} */
  range(index) {
    return [index * CHUNK_BYTES, Math.min((index + 1) * CHUNK_BYTES, this.size)];
  }

  /** Pieces that are not here yet, in order. */
  get missing() {
    return Array.from({ length: this.count }, (_, index) => index)
      .filter((index) => !this.done.has(index));
  }

  /** Bytes of the pieces that are here. */
  get bytes() {
    let sum = 0;
    for (const index of this.done) sum += this.range(index)[1] - this.range(index)[0];
    return sum;
  }

  /** Bytes from the start without a gap. */
  get prefix() {
    let index = 0;
    while (this.done.has(index)) index += 1;
    return Math.min(index * CHUNK_BYTES, this.size);
  }

  /**
   * Begins anew: nothing of the file is here.
   * @param {Identity} identity
   */
  begin(identity) {
    this.identity = identity;
    this.done.clear();
    try {
      this.journal.truncate(0);
      this.data.truncate(0);
      this.data.truncate(identity.size);
      this.append(JSON.stringify(identity));
    } catch (error) {
      throw fileFailure(error);
    }
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} at
   */
  write(bytes, at) {
    try {
      for (let done = 0; done < bytes.byteLength;) {
        const count = this.data.write(bytes.subarray(done), { at: at + done });
        if (count === 0) throw new DOMException("no more bytes", "QuotaExceededError");
        done += count;
      }
    } catch (error) {
      throw fileFailure(error);
    }
  }

  /**
   * A piece has come. On the disk first, then in the journal.
   * @param {number} index
   */
  finished(index) {
    try {
      this.data.flush();
      this.append(String(index));
    } catch (error) {
      throw fileFailure(error);
    }
    this.done.add(index);
  }

  /** @param {string} line */
  append(line) {
    this.journal.write(new TextEncoder().encode(`${line}\n`), { at: this.journal.getSize() });
    this.journal.flush();
  }

  close() {
    this.data.close();
    this.journal.close();
  }

  /** Forgets all that has come. Call it after `close`. */
  async discard() {
    await this.files.remove(`${this.path}.part`);
    await this.files.remove(`${this.path}.part.journal`);
  }

  /** The file is whole: it takes its own name. Call it after `close`. */
  async moveIntoPlace() {
    await this.files.replace(`${this.path}.part`, this.path);
    await this.files.remove(`${this.path}.part.journal`);
  }
}

/**
 * @param {string} line
 * @returns {Identity | null}
 */
function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
