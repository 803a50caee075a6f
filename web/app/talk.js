/** The conversation in sight: its messages, what is kept of it, and the change to another. */

import { modelNamed, tellProblem } from "./library.js";
import { changed, emptyConversation, model, watch } from "./model.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").ChatMessage} ChatMessage */
/** @typedef {import("./types.js").Conversation} Conversation */

const TITLE_LENGTH = 60;

/** What the answers of this visit cost; a message that is gone takes its entry with it.
 * @type {WeakMap<ChatMessage, import("./model.js").Answer>} */
export const answers = new WeakMap();

/** @param {Partial<Conversation>} changes */
export function changeConversation(changes) {
  model.talk.conversation = { ...model.talk.conversation, ...changes };
  changed();
}

/** @param {Conversation} conversation */
export function showConversation(conversation) {
  const { talk } = model;
  Object.assign(talk, { conversation, editing: -1, answer: null });
  if (conversation.model) talk.chosen = conversation.model;
  changed();
}

/** A new one, with the settings and the system prompt of the one before. */
export function newConversation() {
  const { system, settings } = model.talk.conversation;
  showConversation({ ...emptyConversation(), system, settings });
}

/** Whether the chosen model answers; else it goes on from a text. */
export function answersChat() {
  return modelNamed(model.talk.chosen)?.chat ?? true;
}

/**
 * What the model reads: the system prompt, if there is one, then the messages.
 * @param {ChatMessage[]} messages
 * @returns {ChatMessage[]}
 */
export function withSystem(messages) {
  const { system } = model.talk.conversation;
  return system.trim() ? [{ role: "system", content: system }, ...messages] : messages;
}

/**
 * The one text that a model without a chat template goes on from.
 * @param {ChatMessage[]} messages
 */
export function asText(messages) {
  return messages.map((message) => message.content).join("");
}

/** @param {Conversation} conversation */
export function titleOf(conversation) {
  return conversation.title || text.chat.list.untitled;
}

/**
 * Keeps the conversation in this browser.
 * @param {Client} client
 */
export async function keepConversation(client) {
  const { talk } = model;
  const first = talk.conversation.messages.find((message) => message.role === "user");
  if (!first) return;
  const words = first.content.trim().replace(/\s+/g, " ");
  const title = words.length > TITLE_LENGTH ? `${words.slice(0, TITLE_LENGTH)}\u2026` : words;
  changeConversation({ title, model: talk.chosen, updated_at: Date.now() / 1000 });
  try {
    await client.command("save_conversation", { conversation: talk.conversation });
  } catch (reason) {
    tellProblem(reason, "chat-problem");
  }
}

/** @param {Client} client */
async function fetchKept(client) {
  const { talk } = model;
  talk.known = true;
  try {
    await client.command("conversations");
  } catch (reason) {
    talk.known = false;
    tellProblem(reason, "chat-list-problem");
    return;
  }
  const untouched = talk.conversation.messages.length === 0;
  if (untouched && talk.kept.length > 0) showConversation(talk.kept[0]);
}

/** @param {Client} client */
export function setUpTalk(client) {
  watch((m) => [m.phase, m.place === "chat"], () => {
    const { talk, phase, place } = model;
    if (phase === "ready" && place === "chat" && !talk.known) void fetchKept(client);
  });
}
