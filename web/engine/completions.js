// Requests and answers in the shape of OpenAI's API: `chat.completions` and `completions`.

import { EngineError, abortError } from "./errors.js";
import { Stream } from "./stream.js";

/** @typedef {import("./wire.js").Token} Token */
/** @typedef {import("./wire.js").TokenLogprob} TokenLogprob */
/**
 * @typedef {{role: "system" | "user" | "assistant" | "tool", content: string}} ChatMessage
 *
 * @typedef {object} Sampling
 * @property {number} [temperature] 0 takes the likeliest token; the model's own default otherwise
 * @property {number} [top_p]
 * @property {number} [top_k]
 * @property {number} [min_p]
 * @property {number} [max_tokens] most tokens to write; `max_completion_tokens` is the same
 * @property {number} [max_completion_tokens]
 * @property {string | string[]} [stop] strings that end the text; they are not given out
 * @property {number} [seed]
 * @property {number} [frequency_penalty]
 * @property {number} [presence_penalty]
 * @property {number} [repetition_penalty]
 * @property {number} [top_logprobs] 0 to 20; needs `logprobs: true`
 * @property {boolean} [stream]
 * @property {AbortSignal} [signal]
 *
 * @typedef {Sampling & {messages: ChatMessage[], logprobs?: boolean, tools?: object[], n?: 1,
 *   model?: string}} ChatRequest
 * @typedef {Sampling & {prompt: string, logprobs?: boolean, n?: 1, model?: string}} TextRequest
 *
 * @typedef {{prompt_tokens: number, completion_tokens: number, total_tokens: number,
 *   prompt_tokens_details: {cached_tokens: number}, prefill_tokens_per_second: number,
 *   decode_tokens_per_second: number, first_token_ms: number,
 *   kilobytes_per_second: number}} Usage
 * @typedef {{token: string, bytes: number[], logprob: number,
 *   top_logprobs: {token: string, bytes: number[], logprob: number}[]}} Logprob
 */

const utf8 = new TextEncoder();
const UNSUPPORTED = ["response_format", "logit_bias", "tool_choice", "functions", "best_of",
  "suffix", "echo"];

/** @param {{token: string, logprob: number}} one */
const withBytes = ({ token, logprob }) => ({ token, logprob, bytes: [...utf8.encode(token)] });

/**
 * @param {TokenLogprob[]} tokens
 * @returns {Logprob[]}
 */
export function logprobsOf(tokens) {
  return tokens.map((one) => ({ ...withBytes(one),
    top_logprobs: one.top_logprobs.map(withBytes) }));
}

/**
 * @param {Record<string, any>} usage of protocol.json
 * @returns {Usage}
 */
export function usageOf(usage) {
  return {
    prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens,
    total_tokens: usage.prompt_tokens + usage.completion_tokens,
    prompt_tokens_details: { cached_tokens: usage.reused_tokens },
    prefill_tokens_per_second: usage.prefill_tokens_per_second,
    decode_tokens_per_second: usage.decode_tokens_per_second,
    first_token_ms: usage.first_token_ms, kilobytes_per_second: usage.kilobytes_per_second,
  };
}

/**
 * A request's settings under the names of protocol.json.
 * @param {Record<string, any>} request
 */
function settingsOf(request) {
  const odd = UNSUPPORTED.find((name) => request[name] !== undefined && request[name] !== null);
  if (odd) {
    throw new EngineError({ code: "settings", message: `${odd} is not supported.`, control: odd,
      remedy: "Leave it out." });
  }
  if (request.n !== undefined && request.n !== 1) {
    throw new EngineError({ code: "settings", message: "One answer is written at a time.",
      expected: "n: 1", received: String(request.n), control: "n" });
  }
  const { temperature, top_p, top_k, min_p, seed, frequency_penalty, presence_penalty,
    repetition_penalty, logprobs, top_logprobs, stop } = request;
  return {
    temperature, top_p, top_k, min_p, seed, frequency_penalty, presence_penalty,
    repetition_penalty, logprobs: Boolean(logprobs), top_logprobs,
    max_new_tokens: request.max_completion_tokens ?? request.max_tokens,
    stop: typeof stop === "string" ? [stop] : stop,
  };
}

export class Completions {
  /**
   * @param {import("./tabgrad.js").Engine} engine
   * @param {"chat" | "complete"} command
   */
  constructor(engine, command) {
    this.engine = engine;
    this.command = command;
  }

  /**
   * Writes an answer; with `stream: true` gives its pieces as they come.
   * @param {any} request a ChatRequest or a TextRequest
   * @returns {Promise<any>} a completion, or a `Stream` of chunks
   */
  async create(request) {
    const fields = { settings: settingsOf(request), ...this.#input(request) };
    const shape = this.shape();
    if (request.stream) {
      return new Stream((tell, signal) => this.#run(fields, request, shape, tell, signal),
        request.signal);
    }
    const result = await this.engine.enqueue(this.command, fields, request.signal, () => {});
    return shape.whole(result.text, result, request.logprobs ? result.logprobs : null);
  }

  /** @param {any} request */
  #input(request) {
    return this.command === "chat"
      ? { messages: request.messages, tools: request.tools } : { prompt: request.prompt };
  }

  /**
   * Runs a streamed request.
   * @param {Record<string, unknown>} fields
   * @param {any} request
   * @param {ReturnType<Completions["shape"]>} shape
   * @param {(chunk: any) => void} tell
   * @param {AbortSignal} signal
   */
  async #run(fields, request, shape, tell, signal) {
    shape.first(tell);
    const result = await this.engine.enqueue(this.command, fields, signal, (token) => {
      tell(shape.piece(token.text, request.logprobs ? token.logprobs : null));
    });
    if (signal.aborted) throw abortError();
    tell(shape.last(result));
  }

  /** The objects of one answer, which share an id and a time. */
  shape() {
    const chat = this.command === "chat";
    const base = { id: `${chat ? "chatcmpl" : "cmpl"}-${crypto.randomUUID()}`,
      created: Math.floor(Date.now() / 1000), model: this.engine.model };
    const kind = chat ? "chat.completion" : "text_completion";
    /** @param {TokenLogprob[] | null} tokens */
    const listed = (tokens) => (tokens ? { content: logprobsOf(tokens) } : null);
    /** @param {string} text */
    const delta = (text) => (chat ? { delta: { content: text } } : { text });
    return {
      /** @param {string} text @param {any} result @param {TokenLogprob[] | null} tokens */
      whole: (text, result, tokens) => ({ ...base, object: kind, usage: usageOf(result.usage),
        choices: [{ index: 0, finish_reason: result.finish_reason, logprobs: listed(tokens),
          ...(chat ? { message: { role: "assistant", content: text } } : { text }) }] }),
      /** @param {(chunk: any) => void} tell */
      first: (tell) => {
        if (chat) {
          tell({ ...base, object: `${kind}.chunk`, choices: [{ index: 0, finish_reason: null,
            logprobs: null, delta: { role: "assistant", content: "" } }] });
        }
      },
      /** @param {string} text @param {TokenLogprob[] | null} tokens */
      piece: (text, tokens) => ({ ...base, object: chat ? `${kind}.chunk` : kind,
        choices: [{ index: 0, finish_reason: null, logprobs: listed(tokens), ...delta(text) }] }),
      /** @param {any} result */
      last: (result) => ({ ...base, object: chat ? `${kind}.chunk` : kind,
        usage: usageOf(result.usage), choices: [{ index: 0, logprobs: null,
          finish_reason: result.finish_reason, ...(chat ? { delta: {} } : { text: "" }) }] }),
    };
  }
}
