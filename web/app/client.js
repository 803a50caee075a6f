/**
 * The page's end of the wire: commands with ids become promises, events go to listeners.
 *
 * A command is `{name, id, ...fields}`. The worker answers it with one
 * `{name: "reply", id, result}` or `{name: "failure", id, problem}`.
 */

import { text } from "./strings.js";

/** @typedef {import("./types.js").Message} Message */
/** @typedef {import("./types.js").Problem} Problem */
/**
 * @typedef {{name: string, fields: Record<string, unknown>,
 *   resolve: (result: any) => void, reject: (reason: Failure) => void,
 *   onToken?: (text: string) => void}} Pending
 */

/** A command that was answered with a problem. */
export class Failure extends Error {
  /** @param {Problem} problem */
  constructor(problem) {
    super(problem.message);
    this.name = "Failure";
    this.problem = problem;
  }
}

/**
 * Buffers that are moved, not copied, to the worker.
 * @param {Record<string, unknown>} fields
 * @returns {ArrayBuffer[]}
 */
function transferable(fields) {
  /** @type {ArrayBuffer[]} */
  const buffers = [];
  for (const value of Object.values(fields)) {
    if (value instanceof Uint8Array && value.buffer instanceof ArrayBuffer) {
      buffers.push(value.buffer);
    }
  }
  return buffers;
}

export class Client {
  /** @type {Worker | null} */
  #worker = null;
  /** @type {Map<number, Pending>} */
  #pending = new Map();
  /** @type {Set<(message: Message) => void>} */
  #listeners = new Set();
  /** @type {Set<(name: string, fields: Record<string, any>, result: any) => void>} */
  #replyListeners = new Set();
  /** @type {Set<(problem: Problem) => void>} */
  #crashListeners = new Set();
  #nextId = 1;

  /**
   * @param {() => Worker} open starts the worker
   * @param {import("./protocol.js").Protocol} protocol
   */
  constructor(open, protocol) {
    this.open = open;
    this.protocol = protocol;
  }

  /** Starts the worker, or a fresh one in place of the old. */
  start() {
    this.#worker?.terminate();
    this.#failAll({ code: "restarted", message: text.problems.restarted });
    const worker = this.open();
    worker.addEventListener("message", (event) => this.#receive(event.data));
    worker.addEventListener("messageerror", () => this.#crash(text.problems.unreadable));
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#crash(event.message || text.problems.noWorker);
    });
    this.#worker = worker;
  }

  /**
   * Sends a command. Byte fields are moved to the worker: do not use them afterwards.
   * @param {string} name a key of `to_worker` in protocol.json
   * @param {Record<string, unknown>} [fields]
   * @param {(text: string) => void} [onToken] called for each `token` that belongs to it
   * @returns {Promise<any>} the reply's result; rejects with a Failure
   */
  command(name, fields = {}, onToken) {
    const wrong = this.protocol.checkCommand(name, fields);
    if (wrong) return Promise.reject(new Failure({ code: "protocol", message: wrong }));
    const worker = this.#worker;
    if (!worker) {
      return Promise.reject(new Failure({ code: "crashed", message: text.problems.noWorker }));
    }
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { name, fields, resolve, reject, onToken });
      worker.postMessage({ name, id, ...fields }, transferable(fields));
    });
  }

  /**
   * @param {(message: Message) => void} listener called for every event from the worker
   * @returns {() => void} takes the listener off again
   */
  onMessage(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Whether a command of this name is still to be answered.
   * @param {string} name
   */
  waitsFor(name) {
    return [...this.#pending.values()].some((pending) => pending.name === name);
  }

  /** @param {(name: string, fields: Record<string, any>, result: any) => void} listener */
  onReply(listener) {
    this.#replyListeners.add(listener);
  }

  /** @param {(problem: Problem) => void} listener called when the worker has died */
  onCrash(listener) {
    this.#crashListeners.add(listener);
  }

  /** @param {unknown} data */
  #receive(data) {
    const wrong = this.protocol.checkMessage(data);
    const message = /** @type {Message} */ (data);
    if (wrong) return this.#refuse(message, wrong);
    if (message.name === "reply") return this.#reply(message);
    if (message.name === "failure") {
      this.#take(message.id)?.reject(new Failure(message.problem));
      return;
    }
    if (message.name === "token") this.#pending.get(message.id ?? -1)?.onToken?.(message.text);
    for (const listener of this.#listeners) listener(message);
  }

  /** @param {Message} message */
  #reply(message) {
    const pending = this.#take(message.id);
    if (!pending) return;
    const wrong = this.protocol.checkReply(pending.name, message.result);
    if (wrong) {
      pending.reject(new Failure({ code: "protocol", message: wrong }));
      return;
    }
    for (const listener of this.#replyListeners) {
      listener(pending.name, pending.fields, message.result);
    }
    pending.resolve(message.result);
  }

  /**
   * A message that is not in the table: its command fails, or everybody is told.
   * @param {Message} message
   * @param {string} wrong
   */
  #refuse(message, wrong) {
    const problem = { code: "protocol", message: text.problems.protocol, detail: wrong };
    const pending = this.#take(message?.id);
    if (pending) {
      pending.reject(new Failure(problem));
      return;
    }
    for (const listener of this.#listeners) listener({ name: "error", problem });
  }

  /** @param {number | undefined} id */
  #take(id) {
    if (id === undefined) return undefined;
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  /** @param {string} detail */
  #crash(detail) {
    const problem = { code: "crashed", message: text.problems.crashed, detail };
    this.#worker?.terminate();
    this.#worker = null;
    this.#failAll(problem);
    for (const listener of this.#crashListeners) listener(problem);
  }

  /** @param {Problem} problem */
  #failAll(problem) {
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const pending of waiting) pending.reject(new Failure(problem));
  }
}
