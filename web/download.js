// Counts the bytes of files that others fetch, so that a start can show how far it is.

/**
 * While it watches, `fetch` in this worker passes its answers through a counter. Files that come
 * another way (an import) count when `finish` says that all are here.
 */
export class Download {
  /** @param {(url: string) => number | undefined} sizeOf bytes of a file that the site lists */
  constructor(sizeOf) {
    this.sizeOf = sizeOf;
    this.total = 0;
    this.done = 0;
    /** @type {(done: number, total: number) => void} */
    this.tell = () => undefined;
    /** @type {typeof fetch | null} */
    this.original = null;
  }

  /**
   * @param {URL[]} files
   * @param {(done: number, total: number) => void} tell called as bytes arrive
   */
  watch(files, tell) {
    const watched = new Set(files.map((file) => file.href));
    this.total = files.reduce((sum, file) => sum + (this.sizeOf(file.href) ?? 0), 0);
    this.done = 0;
    this.tell = tell;
    const original = globalThis.fetch;
    this.original = original;
    globalThis.fetch = async (input, init) => {
      const response = await original(input, init);
      const url = input instanceof Request ? input.url : new URL(input, import.meta.url).href;
      return watched.has(url) ? this.#counted(response) : response;
    };
    tell(0, this.total);
  }

  /** All files are here; `fetch` is what it was. */
  finish() {
    if (this.original) globalThis.fetch = this.original;
    this.original = null;
    this.tell(this.total, this.total);
  }

  /** @param {Response} response */
  #counted(response) {
    if (!response.ok || !response.body) return response;
    let told = 0;
    const counter = new TransformStream({
      transform: (/** @type {Uint8Array} */ piece, controller) => {
        this.done += piece.byteLength;
        // A message for every few hundred kilobytes, not for every network packet.
        if (this.done - told > 250_000) {
          told = this.done;
          this.tell(Math.min(this.done, this.total), this.total);
        }
        controller.enqueue(piece);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
  }
}
