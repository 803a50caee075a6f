// Whether a file will fit, and how often to tell how far it is.

import { HubFailure } from "./failure.js";

const TELL_MS = 100;

/**
 * Throws unless the browser would still store that much.
 * @param {number} size of the file
 * @param {number} have bytes of it that count as used already
 */
export async function checkQuota(size, have) {
  const { usage = 0, quota } = await navigator.storage.estimate();
  if (quota === undefined) return;
  const free = Math.max(0, quota - usage + have);
  if (size > free) {
    throw new HubFailure("Quota", { expected: `${size} bytes`, received: `${free} bytes free` });
  }
}

/** Tells at most ten times a second. */
export class Teller {
  /** @param {((done: number, total: number) => void) | null} progress */
  constructor(progress) {
    this.progress = progress;
    this.told = -Infinity;
  }

  /**
   * @param {number} done
   * @param {number} total
   * @param {boolean} [now]
   */
  tell(done, total, now = false) {
    if (!this.progress || (!now && performance.now() - this.told < TELL_MS)) return;
    this.told = performance.now();
    this.progress(done, total);
  }
}
