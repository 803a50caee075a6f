// SHA-256 of a file while it is still being written: follows the bytes that are there.

import { tick } from "../tick.js";

const PIECE_BYTES = 2 ** 20;
const LIBRARY = new URL("../vendor/noble-hashes/sha2.js", import.meta.url);

/** A hash that takes piece after piece. */
export async function newHash() {
  const { sha256 } = /** @type {typeof import("@noble/hashes/sha2.js")} */ (
    await import(LIBRARY.href));
  return sha256.create();
}

/** @param {Uint8Array} digest */
export function hex(digest) {
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Hashes a file from its start up to what has been written without a gap. */
export class FollowingHash {
  /**
   * @param {FileSystemSyncAccessHandle} handle
   * @param {Awaited<ReturnType<typeof newHash>>} hash
   */
  constructor(handle, hash) {
    this.handle = handle;
    this.hash = hash;
    this.at = 0;
    this.target = 0;
    this.stopped = false;
    /** @type {Promise<void> | null} */
    this.running = null;
  }

  /** @param {number} target the bytes before it are there */
  advance(target) {
    this.target = target;
    if (this.running) return;
    this.running = this.run().finally(() => {
      this.running = null;
    });
    // `finish` meets the same error again; nobody else has to.
    this.running.catch(() => undefined);
  }

  async run() {
    const piece = new Uint8Array(PIECE_BYTES);
    while (this.at < this.target && !this.stopped) {
      const part = piece.subarray(0, Math.min(PIECE_BYTES, this.target - this.at));
      this.handle.read(part, { at: this.at });
      this.hash.update(part);
      this.at += part.byteLength;
      await tick();
    }
  }

  /**
   * The hash of the first `size` bytes, in hexadecimal.
   * @param {number} size
   */
  async finish(size) {
    while (this.at < size) {
      this.advance(size);
      await this.running;
    }
    return hex(this.hash.digest());
  }

  /** Lets the file go: nothing is read from it afterwards. */
  async stop() {
    this.stopped = true;
    await this.running?.catch(() => undefined);
  }
}
