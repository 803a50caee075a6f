// `chat.completions` and `completions`: what creates answers.

import { ChatAnswer, TextAnswer } from "./answer.js";
import { fieldsOf } from "./request.js";
import { Stream } from "./stream.js";

/** @typedef {import("./types.js").ChatRequest} ChatRequest */
/** @typedef {import("./types.js").TextRequest} TextRequest */
/** @typedef {import("./types.js").ChatCompletion} ChatCompletion */
/** @typedef {import("./types.js").TextCompletion} TextCompletion */
/** @typedef {import("./types.js").ChatChunk} ChatChunk */
/** @typedef {import("./types.js").TextChunk} TextChunk */
/** @typedef {import("./types.js").AtOnce} AtOnce */
/** @typedef {import("./types.js").Streamed} Streamed */
/** @typedef {import("./types.js").RequestOptions} RequestOptions */
/** @typedef {import("./tabgrad.js").Engine} Engine */

/** Answers to conversations. */
export class ChatCompletions {
  #engine;

  /** @param {Engine} engine */
  constructor(engine) {
    this.#engine = engine;
  }

  /**
   * Writes the answer to a conversation; with `stream: true` gives its pieces as they come.
   * @overload
   * @param {ChatRequest & Streamed} request
   * @param {RequestOptions} [options]
   * @returns {Promise<Stream<ChatChunk>>}
   */
  /**
   * @overload
   * @param {ChatRequest & AtOnce} request
   * @param {RequestOptions} [options]
   * @returns {Promise<ChatCompletion>}
   */
  /**
   * @overload
   * @param {ChatRequest} request
   * @param {RequestOptions} [options]
   * @returns {Promise<ChatCompletion | Stream<ChatChunk>>}
   */
  /**
   * @param {ChatRequest} request
   * @param {RequestOptions} [options]
   * @returns {Promise<ChatCompletion | Stream<ChatChunk>>}
   */
  async create(request, options) {
    return write(this.#engine, "chat", request, options,
      new ChatAnswer(this.#engine.model, request));
  }
}

/** Texts that go on from a beginning. */
export class TextCompletions {
  #engine;

  /** @param {Engine} engine */
  constructor(engine) {
    this.#engine = engine;
  }

  /**
   * Writes what follows a text; with `stream: true` gives its pieces as they come.
   * @overload
   * @param {TextRequest & Streamed} request
   * @param {RequestOptions} [options]
   * @returns {Promise<Stream<TextChunk>>}
   */
  /**
   * @overload
   * @param {TextRequest & AtOnce} request
   * @param {RequestOptions} [options]
   * @returns {Promise<TextCompletion>}
   */
  /**
   * @overload
   * @param {TextRequest} request
   * @param {RequestOptions} [options]
   * @returns {Promise<TextCompletion | Stream<TextChunk>>}
   */
  /**
   * @param {TextRequest} request
   * @param {RequestOptions} [options]
   * @returns {Promise<TextCompletion | Stream<TextChunk>>}
   */
  async create(request, options) {
    return write(this.#engine, "complete", request, options,
      new TextAnswer(this.#engine.model, request));
  }
}

/**
 * @template Whole, Chunk
 * @param {Engine} engine
 * @param {"chat" | "complete"} command
 * @param {ChatRequest | TextRequest} request
 * @param {RequestOptions | undefined} options
 * @param {{whole: (written: import("./wire.js").Written) => Whole, first: () => Chunk[],
 *   piece: (token: import("./wire.js").Token) => Chunk,
 *   last: (written: import("./wire.js").Written) => Chunk[]}} answer
 * @returns {Promise<Whole | Stream<Chunk>>}
 */
async function write(engine, command, request, options, answer) {
  const fields = fieldsOf(command, request);
  const signal = options?.signal ?? request.signal;
  if (!request.stream) return answer.whole(await engine.enqueue(command, fields, signal));
  return new Stream(async (tell, ended) => {
    answer.first().forEach(tell);
    const written = await engine.enqueue(command, fields, ended,
      (token) => tell(answer.piece(token)));
    answer.last(written).forEach(tell);
  }, signal);
}
