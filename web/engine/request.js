// From a request as OpenAI's API has it to a command of protocol.json.

import { wrongField } from "./errors.js";

const SETTINGS = ["temperature", "top_p", "top_k", "min_p", "frequency_penalty",
  "presence_penalty", "repetition_penalty"];
const KNOWN = {
  chat: ["messages", "max_completion_tokens", "logprobs", "top_logprobs", "tools", "tool_choice"],
  complete: ["prompt", "logprobs"],
  both: [...SETTINGS, "max_tokens", "stop", "seed", "stream", "stream_options", "n", "signal"],
  // What means nothing where one model runs in the visitor's own tab.
  passedOver: ["model", "user", "store", "metadata", "service_tier", "safety_identifier",
    "prompt_cache_key"],
};

/** What a caller finds wrong under its own name, and not under the worker's.
 * @type {Record<string, Record<string, string>>} */
export const PARAMS = {
  chat: { max_new_tokens: "max_tokens", prompt: "messages" },
  complete: { max_new_tokens: "max_tokens" },
};

/**
 * The fields of a command; throws where a request asks for what is not there.
 * @param {"chat" | "complete"} command
 * @param {Record<string, any>} request
 * @returns {Record<string, unknown>}
 */
export function fieldsOf(command, request) {
  for (const [name, value] of Object.entries(request)) {
    const known = [...KNOWN[command], ...KNOWN.both, ...KNOWN.passedOver].includes(name);
    if (!known && value !== undefined && value !== null) {
      throw wrongField(name, `${name} is not supported.`, { remedy: "Leave it out." });
    }
  }
  if ((request.n ?? 1) !== 1) {
    throw wrongField("n", "One answer is written at a time.",
      { expected: "n: 1", received: String(request.n) });
  }
  const settings = { ...sampling(request), ...logprobs(command, request) };
  if (command === "complete") {
    if (typeof request.prompt !== "string") {
      throw wrongField("prompt", "A prompt is a text.", { expected: "a string" });
    }
    return { prompt: request.prompt, settings };
  }
  return { messages: messagesOf(request.messages), tools: tools(request), settings };
}

/** @param {Record<string, any>} request */
function sampling(request) {
  const { stop } = request;
  return {
    ...Object.fromEntries(SETTINGS.map((name) => [name, request[name] ?? null])),
    max_new_tokens: request.max_completion_tokens ?? request.max_tokens ?? null,
    stop: typeof stop === "string" ? [stop] : stop ?? null,
    seed: request.seed ?? crypto.getRandomValues(new Uint32Array(1))[0],
  };
}

/**
 * A chat says `logprobs: true, top_logprobs: 5`; a text says `logprobs: 5`.
 * @param {"chat" | "complete"} command
 * @param {Record<string, any>} request
 */
function logprobs(command, request) {
  const asked = request.logprobs ?? (command === "chat" ? false : null);
  if (command === "complete") return { logprobs: asked !== null, top_logprobs: asked };
  const top = request.top_logprobs ?? null;
  if (top !== null && asked !== true) {
    throw wrongField("top_logprobs", "top_logprobs belongs to logprobs.",
      { expected: "logprobs: true beside it" });
  }
  return { logprobs: asked, top_logprobs: top };
}

/** @param {Record<string, any>} request */
function tools(request) {
  const choice = request.tool_choice ?? "auto";
  if (choice !== "auto" && choice !== "none") {
    throw wrongField("tool_choice", "The model itself chooses whether to call a tool.",
      { expected: '"auto" or "none"', received: JSON.stringify(choice) });
  }
  return choice === "none" || !request.tools?.length ? null : request.tools;
}

/**
 * A conversation as chat templates read it.
 * @param {unknown} messages
 * @returns {Record<string, unknown>[]}
 */
export function messagesOf(messages) {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw wrongField("messages", "There is no message.", { expected: "a list of messages" });
  }
  return messages.map(messageOf);
}

/** @param {import("./types.js").ChatMessage} message @param {number} index */
function messageOf(message, index) {
  const where = `messages[${index}]`;
  const { role, content = null, name, tool_calls, tool_call_id, ...rest } = message ?? {};
  const odd = Object.entries(rest).find(([, value]) => value !== undefined && value !== null);
  if (odd) throw wrongField("messages", `${where}.${odd[0]} is not supported.`);
  if (typeof role !== "string") throw wrongField("messages", `${where} has no role.`);
  return {
    // Templates of open models know no developer; OpenAI's newer name means the same.
    role: role === "developer" ? "system" : role,
    content: contentOf(content, Boolean(tool_calls?.length), where),
    ...(name && { name }), ...(tool_call_id && { tool_call_id }),
    ...(tool_calls?.length && { tool_calls: tool_calls.map(readCall) }),
  };
}

/**
 * @param {unknown} content
 * @param {boolean} calls whether the message calls tools, and need not say anything
 * @param {string} where
 */
function contentOf(content, calls, where) {
  if (typeof content === "string") return content;
  if (content === null && calls) return "";
  if (Array.isArray(content) && content.every((part) => part?.type === "text")) {
    return content.map((part) => part.text).join("");
  }
  throw wrongField("messages", `${where}.content is not a text.`,
    { expected: 'a string, or a list of parts of the type "text"' });
}

/**
 * OpenAI's API writes arguments as JSON text; chat templates want the object.
 * @param {import("./types.js").ToolCall} call
 */
function readCall(call) {
  const { name, arguments: text } = call.function;
  try {
    return { ...call, function: { name, arguments: JSON.parse(text) } };
  } catch {
    throw wrongField("messages", `The arguments of ${name} are not JSON.`,
      { received: String(text).slice(0, 80) });
  }
}
