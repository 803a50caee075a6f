/**
 * tabgrad for web developers: open checkpoints on the visitor's own GPU, behind an API in the shape
 * of OpenAI's. Everything runs in a worker of this page; nothing that is written leaves the machine.
 *
 *     import { createEngine } from "./tabgrad.js";
 *     const engine = await createEngine({ model: "HuggingFaceTB/SmolLM2-135M-Instruct" });
 *     const answer = await engine.chat.completions.create({
 *       messages: [{ role: "user", content: "Why is the sky blue?" }] });
 *     console.log(answer.choices[0].message.content);
 */

import { ChatCompletions, TextCompletions } from "./completions.js";
import { EngineError, wrongField } from "./errors.js";
import { messagesOf } from "./request.js";
import { Wire } from "./wire.js";

export { EngineError } from "./errors.js";
export { Stream } from "./stream.js";

/** @typedef {import("./types.js").ChatMessage} ChatMessage */
/** @typedef {import("./types.js").ChatRequest} ChatRequest */
/** @typedef {import("./types.js").ChatCompletion} ChatCompletion */
/** @typedef {import("./types.js").ChatChunk} ChatChunk */
/** @typedef {import("./types.js").TextRequest} TextRequest */
/** @typedef {import("./types.js").TextCompletion} TextCompletion */
/** @typedef {import("./types.js").TextChunk} TextChunk */
/** @typedef {import("./types.js").Usage} Usage */
/** @typedef {import("./wire.js").Token} Token */
/** @typedef {import("./wire.js").Written} Written */
/**
 * @typedef {{stage: string, done: number, total: number, unit: string, file?: string,
 *   seconds_left?: number | null}} Progress `stage` is "python", "packages", "tabgrad", "gpu",
 *   "self-test", "download", "weights" or "kernels"; `done` of `total` in `unit`
 * @typedef {{code: string, message: string}} Notice
 * @typedef {{name: string, title: string, source: string | null, bytes: number,
 *   licence: string | null}} StoredModel
 *
 * @typedef {object} EngineOptions
 * @property {string} model "owner/name" of the Hugging Face hub, the address of a folder in its
 *   layout, or the name of a model that this origin has stored before
 * @property {number} [contextLength] tokens of the longest text; at most 4096 if left out
 * @property {"auto" | "webgpu" | "numpy"} [device] "auto" takes the CPU where there is no WebGPU
 * @property {Record<string, string>} [headers] sent to the model's host, and never stored: an access
 *   token, for a model that asks for consent
 * @property {(progress: Progress) => void} [onProgress]
 * @property {(notice: Notice) => void} [onNotice] what the visitor should know, such as that the
 *   CPU is used; goes to the console if left out
 * @property {AbortSignal} [signal] gives up while the engine is being made
 */

const here = new URL(import.meta.url);
const DEVICES = ["auto", "webgpu", "numpy"];

/**
 * Starts a worker, fetches the model if it is not stored here yet, and puts it on the GPU.
 * @param {EngineOptions} options
 * @returns {Promise<Engine>}
 */
export async function createEngine(options) {
  const { contextLength = null, device = "auto", signal } = check(options);
  signal?.throwIfAborted();
  const wire = await Wire.open(new URL("../worker.js", here), new URL("../protocol.json", here),
    (message) => report(message, options));
  const giveUp = () => wire.close({ code: "cancelled", message: "The engine was given up." });
  signal?.addEventListener("abort", giveUp);
  try {
    signal?.throwIfAborted();
    await wire.command("boot", { device, base: new URL("../../", here).href });
    const model = await fetched(wire, options);
    const load = { model, context_length: contextLength };
    return new Engine(wire, load, await wire.command("load_model", load));
  } catch (error) {
    wire.close({ code: "closed", message: "The engine could not be made." });
    throw signal?.aborted ? signal.reason : error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}

/**
 * The options, if they can be met.
 * @param {EngineOptions} options
 */
function check(options) {
  const { model, contextLength = 1, device = "auto", headers = {} } = options ?? {};
  if (typeof model !== "string" || !model.trim()) {
    throw wrongField("model", "No model is named.",
      { expected: '"owner/name", the address of a folder, or a stored model\'s name' });
  }
  if (!Number.isInteger(contextLength) || contextLength < 1) {
    throw wrongField("contextLength", "contextLength counts tokens.",
      { expected: "a whole number from 1 on", received: String(contextLength) });
  }
  if (!DEVICES.includes(device)) {
    throw wrongField("device", "There is no such device.",
      { expected: DEVICES.join(", "), received: String(device) });
  }
  if (Object.values(headers).some((value) => typeof value !== "string")) {
    throw wrongField("headers", "Headers are texts.", { expected: "{ Authorization: \"...\" }" });
  }
  if (!isSecureContext) {
    throw new EngineError({ code: "insecure", message: "Browsers give no GPU to this page.",
      expected: "a page from https, or from this computer", received: location.origin });
  }
  if (here.origin !== location.origin) {
    throw new EngineError({ code: "origin", message: "Browsers start workers of the page's own "
      + "origin only.", expected: `tabgrad.js from ${location.origin}`, received: here.origin,
    remedy: "Put tabgrad's folder beside your page." });
  }
  return options;
}

/**
 * The name of the model, once it is stored here. Engines that want the same one at the same time,
 * also those of other tabs, wait for whoever came first.
 * @param {Wire} wire
 * @param {EngineOptions} options
 * @returns {Promise<string>}
 */
function fetched(wire, { model: named, headers, signal }) {
  const model = named.trim();
  return navigator.locks.request(`tabgrad/engine/${model}`, { signal }, async () => {
    const { models } = await wire.command("models");
    const known = models.find((/** @type {Record<string, any>} */ one) => one.complete
      && [one.model, one.title, one.source].some((name) => name === model || name === `${model}/`));
    if (known) return known.model;
    return (await wire.command("download_model", { source: model, headers })).model.model;
  });
}

/**
 * @param {import("./wire.js").Message} message
 * @param {EngineOptions} options
 */
function report(message, { onProgress, onNotice = (notice) => console.warn(notice.message) }) {
  if (message.name === "stage") {
    const { stage, done, total, unit } = message;
    onProgress?.({ stage, done, total, unit });
  } else if (message.name === "transfer") {
    onProgress?.({ stage: "download", done: message.done, total: message.bytes, unit: "bytes",
      file: message.file, seconds_left: message.seconds_left });
  } else if (message.name === "notice") {
    onNotice({ code: message.code, message: message.message });
  }
}

/** A model that answers; from `createEngine`. */
export class Engine {
  #wire;
  #load;
  #lost = false;
  /** @type {Promise<unknown>} never rejects */
  #last = Promise.resolve();

  /**
   * @param {Wire} wire
   * @param {Record<string, unknown>} load the fields of load_model
   * @param {any} loaded its reply
   */
  constructor(wire, load, loaded) {
    this.#wire = wire;
    this.#load = load;
    /** Name of the model, under which it is stored. */
    this.model = /** @type {string} */ (loaded.model.model);
    /** Tokens of the longest text. */
    this.contextLength = /** @type {number} */ (loaded.context_length);
    /** Bytes on the GPU. */
    this.gpuBytes = /** @type {number} */ (loaded.gpu_bytes);
    /** Whether the model has a chat template. */
    this.canChat = /** @type {boolean} */ (loaded.model.chat);
    this.chat = { completions: new ChatCompletions(this) };
    this.completions = new TextCompletions(this);
  }

  /**
   * How many tokens a conversation, or a text, is.
   * @param {ChatMessage[] | string} text
   * @returns {Promise<number>}
   */
  async countTokens(text) {
    const fields = typeof text === "string"
      ? { messages: [], prompt: text } : { messages: messagesOf(text) };
    return (await this.#wire.command("count_tokens", fields)).tokens;
  }

  /**
   * The models that this origin has stored.
   * @returns {Promise<StoredModel[]>}
   */
  async storedModels() {
    const { models } = await this.#wire.command("models");
    return models.filter((/** @type {any} */ one) => one.complete).map(
      (/** @type {any} */ { model, title, source, bytes, licence }) => (
        { name: model, title, source: source ?? null, bytes, licence: licence ?? null }));
  }

  /**
   * Deletes a stored model.
   * @param {string} name
   */
  async deleteModel(name) {
    await this.#wire.command("delete_model", { model: name });
  }

  /**
   * Sends a command when those before it are done: one text is written at a time.
   * @param {"chat" | "complete"} name
   * @param {Record<string, unknown>} fields
   * @param {AbortSignal} [signal]
   * @param {(token: Token) => void} [onToken]
   * @returns {Promise<Written>}
   */
  enqueue(name, fields, signal, onToken) {
    const before = this.#last;
    const turn = unlessAborted(before, signal).then(
      () => this.#send(name, fields, signal, onToken));
    // Also behind a turn that was given up, the ones before it are waited for.
    this.#last = before.then(() => turn).catch(() => undefined);
    return turn;
  }

  /**
   * @param {string} name
   * @param {Record<string, unknown>} fields
   * @param {AbortSignal} [signal]
   * @param {(token: Token) => void} [onToken]
   */
  async #send(name, fields, signal, onToken) {
    if (this.#lost) {
      await this.#wire.command("load_model", this.#load);
      this.#lost = false;
    }
    signal?.throwIfAborted();
    // A closed engine has ended everything already.
    const stop = () => void this.#wire.command("abort").catch(() => undefined);
    signal?.addEventListener("abort", stop);
    try {
      const written = await this.#wire.command(name, fields, onToken);
      signal?.throwIfAborted();
      return written;
    } catch (error) {
      this.#lost ||= error instanceof EngineError && error.code === "device-lost";
      throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Ends the worker and gives its memory back; what is under way rejects. */
  close() {
    this.#wire.close({ code: "closed", message: "The engine is closed.",
      remedy: "Create a new one." });
  }
}

/**
 * @param {Promise<unknown>} promise
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
function unlessAborted(promise, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop);
    promise.then(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    });
  });
}
