// The engine's end of the wire to the worker: a command becomes a promise.

import { loadProtocol } from "../app/protocol.js";
import { EngineError } from "./errors.js";
import { PARAMS } from "./request.js";

/**
 * @typedef {{name: string, resolve: (result: any) => void, reject: (error: unknown) => void,
 *   onToken?: (token: Token) => void}} Pending
 * @typedef {{text: string, logprobs: TokenLogprob[]}} Token
 * @typedef {{token: string, id: number, logprob: number,
 *   top_logprobs: {token: string, id: number, logprob: number}[]}} TokenLogprob
 * @typedef {{text: string, finish_reason: import("./types.js").FinishReason,
 *   usage: Record<string, any>, logprobs: TokenLogprob[]}} Written
 * @typedef {{name: string, id?: number} & Record<string, any>} Message
 */

export class Wire {
  /** @type {Map<number, Pending>} */
  #pending = new Map();
  #nextId = 1;
  #heard = false;
  /** @type {import("./errors.js").Problem | null} */
  #closed = null;

  /**
   * @param {Worker} worker
   * @param {import("../app/protocol.js").Protocol} protocol
   * @param {(message: Message) => void} onEvent called for what belongs to no command
   */
  constructor(worker, protocol, onEvent) {
    this.worker = worker;
    this.protocol = protocol;
    this.onEvent = onEvent;
    worker.addEventListener("message", ({ data }) => this.#receive(data));
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.close(this.#heard
        ? { code: "crashed", message: "The engine's worker has stopped.",
          detail: event.message, remedy: "Create a new engine." }
        : { code: "start", message: "The engine's worker does not start.", detail: event.message,
          remedy: "All files of tabgrad's folder must be served, and a Content-Security-Policy of "
            + "the page must have worker-src 'self'." });
    });
  }

  /**
   * @param {URL} worker
   * @param {URL} table address of protocol.json
   * @param {(message: Message) => void} onEvent
   */
  static async open(worker, table, onEvent) {
    const protocol = await loadProtocol(table).catch((error) => {
      throw new EngineError({ code: "start", message: "tabgrad's own files do not come.",
        detail: String(error), remedy: "Check the connection and try again." });
    });
    return new Wire(new Worker(worker, { type: "module" }), protocol, onEvent);
  }

  /**
   * @param {string} name a command of protocol.json
   * @param {Record<string, unknown>} [fields]
   * @param {(token: Token) => void} [onToken]
   * @returns {Promise<any>}
   */
  command(name, fields = {}, onToken) {
    if (this.#closed) return Promise.reject(new EngineError(this.#closed));
    const wrong = this.protocol.checkCommand(name, fields);
    if (wrong) return Promise.reject(new EngineError({ code: "settings", message: wrong }));
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { name, resolve, reject, onToken });
      this.worker.postMessage({ name, id, ...fields });
    });
  }

  /**
   * Ends the worker; what waits is rejected, and so is what comes later.
   * @param {import("./errors.js").Problem} problem
   */
  close(problem) {
    this.#closed ??= problem;
    this.worker.terminate();
    this.#failAll(problem);
  }

  /** @param {import("./errors.js").Problem} problem */
  #failAll(problem) {
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const one of waiting) one.reject(new EngineError(problem));
  }

  /** @param {Message} message */
  #receive(message) {
    this.#heard = true;
    const wrong = this.protocol.checkMessage(message);
    if (wrong) this.#failAll({ code: "fault", message: wrong });
    else if (message.name === "reply" || message.name === "failure") this.#settle(message);
    else if (message.name === "token") {
      this.#pending.get(message.id ?? -1)?.onToken?.(
        { text: message.text, logprobs: message.logprobs ?? [] });
    // A fault that belongs to no command: nobody knows which of them will still be answered.
    } else if (message.name === "error") this.#failAll(message.problem);
    else this.onEvent(message);
  }

  /** @param {Message} message */
  #settle(message) {
    const id = /** @type {number} */ (message.id);
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    if (message.name === "failure") {
      const { control = null, ...problem } = message.problem;
      pending.reject(new EngineError({ ...problem,
        control: PARAMS[pending.name]?.[control] ?? control }));
      return;
    }
    const wrong = this.protocol.checkReply(pending.name, message.result);
    if (wrong) pending.reject(new EngineError({ code: "fault", message: wrong }));
    else pending.resolve(message.result);
  }
}
