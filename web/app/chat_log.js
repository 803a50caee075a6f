/** The messages of the conversation, as text, and the answer as it comes. */

import { byId, fillKeepingFocus, focusSoon, make, setText } from "./dom.js";
import { temperatureNow } from "./chat_settings.js";
import { shortFacts } from "./chat_facts.js";
import { changed, model, watch } from "./model.js";
import { showProblem } from "./problems.js";
import { text } from "./strings.js";
import { answers, answersChat } from "./talk.js";

/** @typedef {import("./types.js").ChatMessage} ChatMessage */
/**
 * @typedef {{regenerate: () => void, answer: () => void,
 *   edit: (at: number, content: string) => void}} Deeds
 */

const NEAR_END = 48;
const COPIED_MS = 2_000;

/** What has come of the answer under way, and what came since the last frame. */
let draft = document.createTextNode("");
let waiting = "";
let scheduled = false;

export function beginDraft() {
  draft = document.createTextNode("");
  waiting = "";
}

export function draftText() {
  return draft.data + waiting;
}

function nearEnd() {
  const log = byId("chat-log");
  return log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_END;
}

export function scrollToEnd() {
  const log = byId("chat-log");
  log.scrollTop = log.scrollHeight;
}

/** Adds what has come to the page, once a frame. */
function pour() {
  scheduled = false;
  if (!waiting) return;
  const follow = nearEnd();
  draft.appendData(waiting);
  waiting = "";
  document.getElementById("chat-reading")?.remove();
  if (follow) scrollToEnd();
}

/** @param {string} piece */
export function addToDraft(piece) {
  waiting += piece;
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(pour);
}

/** @param {ChatMessage} message @param {HTMLButtonElement} button */
async function copy(message, button) {
  try {
    await navigator.clipboard.writeText(message.content);
  } catch (reason) {
    showProblem({ code: "clipboard", message: String(reason) }, byId("chat-problem"), []);
    return;
  }
  button.textContent = text.chat.log.copied;
  setTimeout(() => setText(button, text.chat.log.copy), COPIED_MS);
}

/**
 * @param {string} words
 * @param {string} id
 * @param {(button: HTMLButtonElement) => void} onclick
 */
function quiet(words, id, onclick) {
  const button = make("button", { type: "button", class: "quiet", id, text: words });
  button.addEventListener("click", () => onclick(button));
  return button;
}

/**
 * @param {ChatMessage} message
 * @param {number} at
 * @param {Deeds} deeds
 */
function tools(message, at, deeds) {
  const words = text.chat.log;
  const { writing, conversation } = model.talk;
  const last = at === conversation.messages.length - 1;
  const row = [quiet(words.copy, `copy-${at}`, (button) => void copy(message, button))];
  if (message.role === "user" && !writing) {
    row.push(quiet(words.edit, `edit-${at}`, () => {
      model.talk.editing = at;
      changed();
      focusSoon("chat-edit");
    }));
  }
  if (last && !writing && model.talk.chosen) {
    row.push(message.role === "user" ? quiet(words.answer, "chat-answer", deeds.answer)
      : quiet(words.again, "chat-regenerate", deeds.regenerate));
  }
  const note = [];
  const known = answers.get(message);
  if (known) note.push(shortFacts(known));
  if (last && message.role === "assistant" && temperatureNow() === 0) note.push(words.sameAgain);
  return make("div", { class: "row" }, [...row,
    make("span", { class: "note", text: note.join(". ") })]);
}

/**
 * @param {ChatMessage} message
 * @param {number} at
 * @param {Deeds} deeds
 */
function editor(message, at, deeds) {
  const words = text.chat.log;
  const area = make("textarea", { id: "chat-edit", rows: 3 });
  area.value = message.content;
  const leave = () => {
    model.talk.editing = -1;
    changed();
    focusSoon(`edit-${at}`);
  };
  const form = make("form", { class: "field edit" }, [
    make("label", { for: "chat-edit", text: words.editLabel }), area,
    make("p", { class: "note", text: words.editHint }),
    make("div", { class: "row" }, [
      make("button", { type: "submit", class: "filled", id: "chat-edit-send",
        text: words.sendEdited }),
      make("button", { type: "button", id: "chat-edit-cancel", text: words.cancelEdit,
        onclick: leave }),
    ]),
  ]);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (area.value.trim()) deeds.edit(at, area.value);
  });
  area.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") leave();
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    form.requestSubmit();
  });
  return form;
}

/** @param {string} role */
function speaker(role) {
  const { you, model: other, system } = text.chat.log;
  return role === "user" ? you : role === "assistant" ? other : system;
}

/**
 * @param {ChatMessage} message
 * @param {number} at
 * @param {Deeds} deeds
 */
function row(message, at, deeds) {
  const content = model.talk.editing === at ? [editor(message, at, deeds)]
    : [make("p", { class: "words", text: message.content }), tools(message, at, deeds)];
  return make("li", { class: `message ${message.role}` },
    [make("h3", { text: speaker(message.role) }), ...content]);
}

/** The answer under way; its row of buttons has a place already, so that nothing jumps. */
function draftRow() {
  const words = model.library.loading ? text.chat.composer.loading : text.chat.log.waiting;
  const reading = draftText() ? []
    : [make("span", { class: "note", id: "chat-reading", text: words })];
  return make("li", { class: "message assistant", "aria-busy": true }, [
    make("h3", { text: speaker("assistant") }),
    make("p", { class: "words" }, [...reading, draft]),
    make("div", { class: "row" }),
  ]);
}

/** @param {Deeds} deeds */
function draw(deeds) {
  const { conversation, writing } = model.talk;
  const follow = nearEnd();
  const rows = conversation.messages.map((message, at) => row(message, at, deeds));
  if (writing) rows.push(draftRow());
  fillKeepingFocus(byId("chat-messages"), rows);
  setText(byId("chat-empty"), rows.length > 0 ? ""
    : answersChat() ? text.chat.log.empty : text.chat.log.emptyText);
  if (follow) scrollToEnd();
}

/** @param {Deeds} deeds */
export function setUpChatLog(deeds) {
  watch((m) => [m.talk.conversation.messages, m.talk.conversation.conversation, m.talk.writing,
    m.talk.editing, m.talk.chosen, m.library.models, m.library.loading, temperatureNow()],
  () => draw(deeds));
}
