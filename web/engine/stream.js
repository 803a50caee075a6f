// Pieces of an answer, as an async iterable that can be given up.

import { abortError } from "./errors.js";

/**
 * Chunks of an answer in the order that they come: `for await (const chunk of stream)`. Leaving the
 * loop early, or aborting the request's signal, ends the writing.
 */
export class Stream {
  /** @type {any[]} */
  #chunks = [];
  /** @type {unknown} */
  #error = undefined;
  #done = false;
  #wake = () => {};

  /**
   * @param {(tell: (chunk: any) => void, signal: AbortSignal) => Promise<void>} run
   * @param {AbortSignal} [signal] of the request
   */
  constructor(run, signal) {
    /** Ends the writing, as OpenAI's streams let one do. */
    this.controller = new AbortController();
    if (signal?.aborted) this.controller.abort();
    signal?.addEventListener("abort", () => this.controller.abort(), { once: true });
    run((chunk) => {
      this.#chunks.push(chunk);
      this.#wake();
    }, this.controller.signal).catch((error) => {
      this.#error = error;
    }).finally(() => {
      this.#done = true;
      this.#wake();
    });
  }

  async* [Symbol.asyncIterator]() {
    try {
      for (;;) {
        while (this.#chunks.length) yield this.#chunks.shift();
        if (this.#error) throw this.#error;
        if (this.#done) return;
        await new Promise((resolve) => {
          this.#wake = () => resolve(undefined);
        });
        if (this.controller.signal.aborted && !this.#done) throw abortError();
      }
    } finally {
      this.controller.abort();
    }
  }
}
