// The engine's end of the wire to the worker: a command becomes a promise.

import { loadProtocol } from "../app/protocol.js";
import { EngineError } from "./errors.js";

/**
 * @typedef {{name: string, resolve: (result: any) => void, reject: (error: unknown) => void,
 *   onToken?: (token: Token) => void}} Pending
 * @typedef {{text: string, logprobs: TokenLogprob[]}} Token
 * @typedef {{token: string, id: number, logprob: number,
 *   top_logprobs: {token: string, id: number, logprob: number}[]}} TokenLogprob
 * @typedef {{name: string, id?: number} & Record<string, any>} Message
 */

export class Wire {
  /** @type {Map<number, Pending>} */
  #pending = new Map();
  #nextId = 1;
  #closed = false;

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
      this.close({ code: "crashed", message: "The engine's worker has stopped.",
        detail: event.message, remedy: "Create a new engine." });
    });
  }

  /**
   * @param {URL} worker
   * @param {URL} table address of protocol.json
   * @param {(message: Message) => void} onEvent
   */
  static async open(worker, table, onEvent) {
    const protocol = await loadProtocol(table);
    return new Wire(new Worker(worker, { type: "module" }), protocol, onEvent);
  }

  /**
   * @param {string} name a command of protocol.json
   * @param {Record<string, unknown>} [fields]
   * @param {(token: Token) => void} [onToken]
   * @returns {Promise<any>}
   */
  command(name, fields = {}, onToken) {
    if (this.#closed) {
      return Promise.reject(new EngineError({ code: "closed", message: "The engine is closed.",
        remedy: "Create a new one." }));
    }
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
   * Ends the worker; what waits is rejected.
   * @param {import("./errors.js").Problem} problem
   */
  close(problem) {
    this.#closed = true;
    this.worker.terminate();
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const one of waiting) one.reject(new EngineError(problem));
  }

  /** @param {Message} message */
  #receive(message) {
    const wrong = this.protocol.checkMessage(message);
    const pending = message.id === undefined ? undefined : this.#pending.get(message.id);
    if (wrong) {
      pending?.reject(new EngineError({ code: "fault", message: wrong }));
      return;
    }
    if (message.name === "token") {
      pending?.onToken?.({ text: message.text, logprobs: message.logprobs ?? [] });
    } else if (message.name === "reply" || message.name === "failure") {
      this.#pending.delete(/** @type {number} */ (message.id));
      if (message.name === "reply") pending?.resolve(message.result);
      else pending?.reject(new EngineError(message.problem));
    } else {
      this.onEvent(message);
    }
  }
}
