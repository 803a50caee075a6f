// From what the worker gives to answers as OpenAI's API has them.

/** @typedef {import("./wire.js").Token} Token */
/** @typedef {import("./wire.js").TokenLogprob} TokenLogprob */
/** @typedef {import("./wire.js").Written} Written */
/** @typedef {import("./types.js").Usage} Usage */

const utf8 = new TextEncoder();

/**
 * @param {{token: string, logprob: number}} one
 * @returns {import("./types.js").Alternative}
 */
function alternative({ token, logprob }) {
  return { token, logprob, bytes: token.includes("\uFFFD") ? null : [...utf8.encode(token)] };
}

/**
 * @param {TokenLogprob[]} tokens
 * @returns {import("./types.js").ChatLogprobs}
 */
function chatLogprobs(tokens) {
  return { refusal: null, content: tokens.map((one) => ({
    ...alternative(one), top_logprobs: one.top_logprobs.map(alternative) })) };
}

/**
 * @param {TokenLogprob[]} tokens
 * @param {number} offset characters of the text before them
 * @returns {import("./types.js").TextLogprobs}
 */
function textLogprobs(tokens, offset) {
  let at = offset;
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ top_logprobs: top }) => Object.fromEntries(
      top.map(({ token, logprob }) => [token, logprob]))),
    text_offset: tokens.map(({ token }) => {
      at += token.length;
      return at - token.length;
    }),
  };
}

/**
 * @param {Record<string, any>} usage of protocol.json
 * @returns {Usage}
 */
function usageOf(usage) {
  return {
    prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens,
    total_tokens: usage.prompt_tokens + usage.completion_tokens,
    prompt_tokens_details: { cached_tokens: usage.reused_tokens },
    prefill_tokens_per_second: usage.prefill_tokens_per_second,
    decode_tokens_per_second: usage.decode_tokens_per_second,
    first_token_ms: usage.first_token_ms, kilobytes_per_second: usage.kilobytes_per_second,
  };
}

/** What all objects of one answer share. */
class Answer {
  /**
   * @param {string} prefix of its id
   * @param {string} model
   * @param {Record<string, any>} request
   */
  constructor(prefix, model, request) {
    this.base = { id: `${prefix}-${crypto.randomUUID()}`,
      created: Math.floor(Date.now() / 1000), model };
    this.logprobs = (request.logprobs ?? false) !== false;
    // With it every chunk has the field, and one more chunk at the end has the numbers.
    this.usage = request.stream_options?.include_usage ? { usage: null } : {};
    this.includeUsage = Boolean(request.stream_options?.include_usage);
  }
}

export class ChatAnswer extends Answer {
  /** @param {string} model @param {Record<string, any>} request */
  constructor(model, request) {
    super("chatcmpl", model, request);
  }

  /** @param {Written} written @returns {import("./types.js").ChatCompletion} */
  whole(written) {
    return { ...this.base, object: "chat.completion", choices: [{
      index: 0, message: { role: "assistant", content: written.text, refusal: null },
      logprobs: this.logprobs ? chatLogprobs(written.logprobs) : null,
      finish_reason: written.finish_reason }], usage: usageOf(written.usage) };
  }

  /** @returns {import("./types.js").ChatChunk[]} */
  first() {
    return [this.#chunk({ delta: { role: "assistant", content: "" } })];
  }

  /** @param {Token} token @returns {import("./types.js").ChatChunk} */
  piece(token) {
    return this.#chunk({ delta: { content: token.text },
      logprobs: this.logprobs ? chatLogprobs(token.logprobs) : null });
  }

  /** @param {Written} written @returns {import("./types.js").ChatChunk[]} */
  last(written) {
    const end = this.#chunk({ delta: {}, finish_reason: written.finish_reason });
    return this.includeUsage
      ? [end, { ...end, choices: [], usage: usageOf(written.usage) }] : [end];
  }

  /**
   * @param {Partial<import("./types.js").ChunkChoice>
   *   & Pick<import("./types.js").ChunkChoice, "delta">} choice
   * @returns {import("./types.js").ChatChunk}
   */
  #chunk(choice) {
    return { ...this.base, object: "chat.completion.chunk",
      choices: [{ index: 0, finish_reason: null, logprobs: null, ...choice }], ...this.usage };
  }
}

export class TextAnswer extends Answer {
  #offset = 0;

  /** @param {string} model @param {Record<string, any>} request */
  constructor(model, request) {
    super("cmpl", model, request);
  }

  /** @param {Written} written @returns {import("./types.js").TextCompletion} */
  whole(written) {
    return { ...this.base, object: "text_completion", choices: [{
      index: 0, text: written.text,
      logprobs: this.logprobs ? textLogprobs(written.logprobs, 0) : null,
      finish_reason: written.finish_reason }], usage: usageOf(written.usage) };
  }

  /** @returns {import("./types.js").TextChunk[]} */
  first() {
    return [];
  }

  /** @param {Token} token @returns {import("./types.js").TextChunk} */
  piece(token) {
    const logprobs = this.logprobs ? textLogprobs(token.logprobs, this.#offset) : null;
    this.#offset += token.logprobs.reduce((sum, one) => sum + one.token.length, 0);
    return this.#chunk({ text: token.text, logprobs });
  }

  /** @param {Written} written @returns {import("./types.js").TextChunk[]} */
  last(written) {
    const end = this.#chunk({ text: "", finish_reason: written.finish_reason });
    return this.includeUsage
      ? [end, { ...end, choices: [], usage: usageOf(written.usage) }] : [end];
  }

  /**
   * @param {Partial<import("./types.js").TextChoice>
   *   & Pick<import("./types.js").TextChoice, "text">} choice
   * @returns {import("./types.js").TextChunk}
   */
  #chunk(choice) {
    return { ...this.base, object: "text_completion",
      choices: [{ index: 0, finish_reason: null, logprobs: null, ...choice }], ...this.usage };
  }
}
