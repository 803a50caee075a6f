// Pieces of an answer, as an async iterable that can be given up.

/**
 * Chunks of an answer in the order that they come: `for await (const chunk of stream)`. Leaving the
 * loop, or `stream.controller.abort()`, ends the writing quietly; aborting the request's own signal
 * ends it too, and the loop throws the signal's reason.
 * @template Chunk
 */
export class Stream {
  /** @type {Chunk[]} */
  #chunks = [];
  /** @type {{error?: unknown} | null} */
  #end = null;
  #taken = false;
  #wake = () => {};
  #signal;

  /**
   * @param {(tell: (chunk: Chunk) => void, signal: AbortSignal) => Promise<void>} run
   * @param {AbortSignal} [signal] of the request
   */
  constructor(run, signal) {
    this.#signal = signal;
    /** Ends the writing, as OpenAI's streams let one do. */
    this.controller = new AbortController();
    this.controller.signal.addEventListener("abort", () => this.#wake());
    const follow = () => this.controller.abort(signal?.reason);
    if (signal?.aborted) follow();
    signal?.addEventListener("abort", follow);
    run((chunk) => {
      this.#chunks.push(chunk);
      this.#wake();
    }, this.controller.signal).then(() => this.#finish({}), (error) => this.#finish({ error }))
      .finally(() => signal?.removeEventListener("abort", follow));
  }

  /** @param {{error?: unknown}} end */
  #finish(end) {
    this.#end = end;
    this.#wake();
  }

  /** @returns {AsyncGenerator<Chunk, void, undefined>} */
  async* [Symbol.asyncIterator]() {
    if (this.#taken) throw new Error("A stream can be read once.");
    this.#taken = true;
    try {
      for (;;) {
        while (this.#chunks.length && !this.controller.signal.aborted) {
          yield /** @type {Chunk} */ (this.#chunks.shift());
        }
        if (this.#signal?.aborted) throw this.#signal.reason;
        if (this.controller.signal.aborted) return;
        if (this.#end && "error" in this.#end) throw this.#end.error;
        if (this.#end) return;
        await new Promise((resolve) => {
          this.#wake = () => resolve(undefined);
        });
      }
    } finally {
      this.controller.abort();
    }
  }
}
