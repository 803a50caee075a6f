/** Counts and times: the draft against what the model can read, and what the last answer cost. */

import { byId, facts, fill, setText } from "./dom.js";
import { milliseconds, number } from "./format.js";
import { model, watch } from "./model.js";
import { text } from "./strings.js";
import { answersChat, asText, withSystem } from "./talk.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./model.js").Answer} Answer */

const PAUSE_MS = 400;

/** A rate with the digits that matter. @param {number} value */
export function rate(value) {
  return number(value, value < 10 ? 1 : 0);
}

/**
 * One line under an answer.
 * @param {Answer} answer
 */
export function shortFacts({ usage, finish_reason: reason, adapter }) {
  const words = text.chat.facts;
  const short = words.short(number(usage.completion_tokens),
    rate(usage.decode_tokens_per_second), milliseconds(usage.first_token_ms));
  const line = adapter ? `${adapter} \u00b7 ${short}` : short;
  if (reason === "length") return `${line} \u00b7 ${words.cut}`;
  return reason === "abort" ? `${line} \u00b7 ${words.stopped}` : line;
}

function drawAnswer() {
  const { answer } = model.talk;
  const words = text.chat.facts;
  setText(byId("chat-facts-none"), answer ? "" : words.none);
  if (!answer) {
    fill(byId("chat-facts"), []);
    return;
  }
  const { usage } = answer;
  fill(byId("chat-facts"), facts([
    [words.written, number(usage.completion_tokens)],
    [words.prompt, number(usage.prompt_tokens)],
    [words.read, number(usage.prefill_tokens)],
    [words.reused, number(usage.reused_tokens)],
    [words.first, milliseconds(usage.first_token_ms)],
    [words.prefill, words.rate(rate(usage.prefill_tokens_per_second))],
    [words.decode, words.rate(rate(usage.decode_tokens_per_second))],
    [words.bandwidth, words.kilobytes(number(usage.kilobytes_per_second, 2))],
    [words.seed, String(answer.seed)],
    [words.ended, words.reasons[answer.finish_reason] ?? answer.finish_reason],
  ]));
}

let timer = 0;
/** The newest question: an answer to an older one is not shown. */
let asked = 0;

/** @param {Client} client */
async function count(client) {
  const { library, talk, phase } = model;
  const home = byId("chat-count");
  const draft = /** @type {HTMLTextAreaElement} */ (byId("chat-prompt")).value;
  const mine = (asked += 1);
  const loaded = library.loaded?.model.model === talk.chosen && talk.chosen !== "";
  if (!loaded || phase !== "ready" || talk.writing) return;
  const messages = draft ? [...talk.conversation.messages, { role: "user", content: draft }]
    : talk.conversation.messages;
  home.classList.remove("wrong");
  if (messages.length === 0) {
    setText(home, "");
    return;
  }
  const fields = answersChat() ? { messages: withSystem(messages) }
    : { messages: [], prompt: asText(messages) };
  try {
    const { tokens, context_length: all } = await client.command("count_tokens", fields);
    if (mine !== asked) return;
    const long = tokens >= all;
    setText(home, (long ? text.chat.composer.tooLong : text.chat.composer.tokens)(
      number(tokens), number(all)));
    home.classList.toggle("wrong", long);
  } catch (reason) {
    // Sending says it in full, at the control that mends it.
    if (mine === asked && reason instanceof Error) setText(home, reason.message);
  }
}

/** @param {Client} client */
export function setUpChatFacts(client) {
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void count(client), PAUSE_MS);
  };
  byId("chat-prompt").addEventListener("input", soon);
  watch((m) => [m.talk.conversation.messages, m.talk.conversation.system, m.talk.writing,
    m.talk.chosen, m.library.loaded], soon);
  watch((m) => [m.talk.chosen, m.library.loaded], () => {
    if (!model.library.loaded) setText(byId("chat-count"), "");
  });
  watch((m) => [m.talk.answer], drawAnswer);
}
