// Shapes of requests and answers, as OpenAI's API has them. What is only tabgrad's says so.

/**
 * @typedef {{id: string, type: "function",
 *   function: {name: string, arguments: string}}} ToolCall
 * @typedef {{type: "text", text: string}} TextPart
 * @typedef {{type: "function", function: {name: string, description?: string,
 *   parameters?: object}}} Tool
 *
 * @typedef {object} ChatMessage
 * @property {"system" | "developer" | "user" | "assistant" | "tool"} role
 * @property {string | TextPart[] | null} [content] null where an assistant only called tools
 * @property {string} [name]
 * @property {ToolCall[]} [tool_calls] what an assistant asked for
 * @property {string} [tool_call_id] which call a tool's message answers
 */

/**
 * @typedef {object} Settings
 * @property {number | null} [temperature] 0 takes the likeliest token; left out, the model's own
 * @property {number | null} [top_p] the fewest of the likeliest tokens that make up this share
 * @property {number | null} [top_k] tabgrad's: only the likeliest k; 0 keeps all
 * @property {number | null} [min_p] tabgrad's: only tokens this often as likely as the likeliest
 * @property {number | null} [max_tokens] most tokens to write; 256 if left out
 * @property {string | string[] | null} [stop] strings that end the text; they are not given out
 * @property {number | null} [seed] the same one gives the same text; left out, each text has its own
 * @property {number | null} [frequency_penalty] -2 to 2
 * @property {number | null} [presence_penalty] -2 to 2
 * @property {number | null} [repetition_penalty] tabgrad's, as Transformers has it; 1 is none
 * @property {{include_usage?: boolean} | null} [stream_options]
 * @property {1 | null} [n]
 * @property {string} [model] passed over: an engine has one model
 * @property {AbortSignal} [signal] tabgrad's; the second argument's `signal` is the same
 */

/**
 * @typedef {object} ChatOnly
 * @property {ChatMessage[]} messages
 * @property {number | null} [max_completion_tokens] the newer name of max_tokens
 * @property {boolean | null} [logprobs] whether to give each token's log-probability
 * @property {number | null} [top_logprobs] how many of the likeliest tokens beside it, 0 to 20
 * @property {Tool[] | null} [tools] for models whose chat template shows them
 * @property {"auto" | "none" | null} [tool_choice]
 *
 * @typedef {object} TextOnly
 * @property {string} prompt
 * @property {number | null} [logprobs] how many of the likeliest tokens to list, 0 to 20
 *
 * @typedef {Settings & ChatOnly & {stream?: boolean | null}} ChatRequest
 * @typedef {Settings & TextOnly & {stream?: boolean | null}} TextRequest
 * @typedef {{stream?: false | null}} AtOnce
 * @typedef {{stream: true}} Streamed
 * @typedef {{signal?: AbortSignal}} RequestOptions
 */

/**
 * @typedef {object} Usage
 * @property {number} prompt_tokens
 * @property {number} completion_tokens
 * @property {number} total_tokens
 * @property {{cached_tokens: number}} prompt_tokens_details those that were in memory already
 * @property {number} prefill_tokens_per_second tabgrad's, as all below
 * @property {number} decode_tokens_per_second
 * @property {number} first_token_ms
 * @property {number} kilobytes_per_second of text
 *
 * @typedef {{token: string, bytes: number[] | null, logprob: number}} Alternative `bytes` is null
 *   where a token is part of a character
 * @typedef {Alternative & {top_logprobs: Alternative[]}} Logprob
 * @typedef {{content: Logprob[], refusal: null}} ChatLogprobs
 * @typedef {{tokens: string[], token_logprobs: number[], top_logprobs: Record<string, number>[],
 *   text_offset: number[]}} TextLogprobs
 * @typedef {"stop" | "length"} FinishReason a stop token or string; max_tokens or the window
 */

/**
 * @typedef {{index: 0, finish_reason: FinishReason, logprobs: ChatLogprobs | null,
 *   message: {role: "assistant", content: string, refusal: null}}} ChatChoice
 * @typedef {{id: string, object: "chat.completion", created: number, model: string,
 *   choices: [ChatChoice], usage: Usage}} ChatCompletion
 *
 * @typedef {{index: 0, finish_reason: FinishReason | null, logprobs: ChatLogprobs | null,
 *   delta: {role?: "assistant", content?: string}}} ChunkChoice
 * @typedef {{id: string, object: "chat.completion.chunk", created: number, model: string,
 *   choices: ChunkChoice[], usage?: Usage | null}} ChatChunk
 *
 * @typedef {{index: 0, finish_reason: FinishReason | null, logprobs: TextLogprobs | null,
 *   text: string}} TextChoice
 * @typedef {{id: string, object: "text_completion", created: number, model: string,
 *   choices: TextChoice[], usage?: Usage | null}} TextChunk
 * @typedef {TextChunk & {choices: [TextChoice], usage: Usage}} TextCompletion
 */

export {};
