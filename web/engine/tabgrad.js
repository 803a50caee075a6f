/**
 * tabgrad for web developers: open checkpoints on the visitor's own GPU, behind an API in the shape
 * of OpenAI's. Everything runs in a worker of this page; nothing leaves the machine.
 *
 *     import { createEngine } from "./tabgrad.js";
 *     const engine = await createEngine({ model: "HuggingFaceTB/SmolLM2-135M-Instruct" });
 *     const answer = await engine.chat.completions.create({
 *       messages: [{ role: "user", content: "Why is the sky blue?" }] });
 *     console.log(answer.choices[0].message.content);
 */

import { Completions } from "./completions.js";
import { abortError } from "./errors.js";
import { Wire } from "./wire.js";

export { EngineError } from "./errors.js";
export { Stream } from "./stream.js";

/** @typedef {import("./completions.js").ChatRequest} ChatRequest */
/** @typedef {import("./completions.js").TextRequest} TextRequest */
/** @typedef {import("./wire.js").Token} Token */
/**
 * @typedef {{stage: string, done: number, total: number, unit: string, file?: string,
 *   seconds_left?: number | null}} Progress `stage` is "python", "packages", "tabgrad", "gpu",
 *   "self-test", "download", "weights" or "kernels"; `done` of `total` in `unit`
 *
 * @typedef {object} EngineOptions
 * @property {string} model "owner/name" of the Hugging Face hub, the address of a folder in its
 *   layout, or the name of a model that this origin has stored before
 * @property {number} [contextLength] tokens of the longest text; at most 4096 if left out
 * @property {"auto" | "webgpu" | "numpy"} [device] "auto" falls back to the CPU without WebGPU
 * @property {(progress: Progress) => void} [onProgress]
 * @property {AbortSignal} [signal] gives up while the engine is being made
 */

const here = new URL(import.meta.url);

/**
 * Starts a worker, fetches the model if it is not stored here yet, and puts it on the GPU.
 * @param {EngineOptions} options
 * @returns {Promise<Engine>}
 */
export async function createEngine({ model, contextLength, device = "auto", onProgress, signal }) {
  if (signal?.aborted) throw abortError();
  const wire = await Wire.open(new URL("../worker.js", here), new URL("../protocol.json", here),
    (message) => report(message, onProgress));
  const giveUp = () => wire.close({ code: "cancelled", message: "The engine was given up." });
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await wire.command("boot", { device, base: new URL("../../", here).href });
    const name = await stored(wire, model);
    const loaded = await wire.command("load_model",
      { model: name, context_length: contextLength ?? null });
    return new Engine(wire, loaded);
  } catch (error) {
    wire.close({ code: "closed", message: "The engine could not be made." });
    throw signal?.aborted ? abortError() : error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}

/**
 * The name under which a model is stored here, once it is.
 * @param {Wire} wire
 * @param {string} model
 */
async function stored(wire, model) {
  const { models } = await wire.command("models");
  const known = models.find((/** @type {any} */ one) => one.complete && one.model === model);
  if (known) return known.model;
  const { model: got } = await wire.command("download_model", { source: model });
  return got.model;
}

/**
 * @param {import("./wire.js").Message} message
 * @param {((progress: Progress) => void) | undefined} onProgress
 */
function report(message, onProgress) {
  if (message.name === "stage") {
    const { stage, done, total, unit } = message;
    onProgress?.({ stage, done, total, unit });
  } else if (message.name === "transfer") {
    onProgress?.({ stage: "download", done: message.done, total: message.bytes, unit: "bytes",
      file: message.file, seconds_left: message.seconds_left });
  }
}

export class Engine {
  #wire;
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();

  /**
   * @param {Wire} wire
   * @param {any} loaded the reply to load_model
   */
  constructor(wire, loaded) {
    this.#wire = wire;
    /** Name of the model. */
    this.model = /** @type {string} */ (loaded.model.model);
    /** Facts of the model, as `Model` of protocol.json. */
    this.info = loaded.model;
    /** Tokens of the longest text. */
    this.contextLength = /** @type {number} */ (loaded.context_length);
    this.chat = { completions: new Completions(this, "chat") };
    this.completions = new Completions(this, "complete");
  }

  /**
   * How many tokens a conversation is.
   * @param {import("./completions.js").ChatMessage[]} messages
   * @returns {Promise<number>}
   */
  async countTokens(messages) {
    return (await this.#wire.command("count_tokens", { messages })).tokens;
  }

  /**
   * Sends a command when those before it are done: one text is written at a time.
   * @param {string} name
   * @param {Record<string, unknown>} fields
   * @param {AbortSignal | undefined} signal
   * @param {(token: Token) => void} onToken
   * @returns {Promise<any>}
   */
  enqueue(name, fields, signal, onToken) {
    const turn = this.#last.then(() => this.#send(name, fields, signal, onToken));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /**
   * @param {string} name
   * @param {Record<string, unknown>} fields
   * @param {AbortSignal | undefined} signal
   * @param {(token: Token) => void} onToken
   */
  async #send(name, fields, signal, onToken) {
    if (signal?.aborted) throw abortError();
    const stop = () => void this.#wire.command("abort").catch(() => undefined);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      const result = await this.#wire.command(name, fields, onToken);
      if (signal?.aborted) throw abortError();
      return result;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Ends the worker and gives its memory back. */
  close() {
    this.#wire.close({ code: "closed", message: "The engine was closed." });
  }
}
