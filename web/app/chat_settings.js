/** How the model draws its tokens: a field left empty is the model's own. */

import { byId, fill, make, setText } from "./dom.js";
import { model, watch } from "./model.js";
import { parse } from "./settings.js";
import { text } from "./strings.js";
import { changeConversation } from "./talk.js";

/** @typedef {import("./settings.js").Field} Field */

/** @type {Field[]} The three that matter, always in sight. */
const SHOWN = [
  { name: "temperature", kind: "number", min: 0, max: 100 },
  { name: "top_p", kind: "number", min: 0, max: 1 },
  { name: "max_new_tokens", kind: "integer", min: 1, max: 1_000_000 },
];
/** @type {Field[]} */
const MORE = [
  { name: "top_k", kind: "integer", min: 0, max: 4_294_967_295 },
  { name: "min_p", kind: "number", min: 0, max: 1 },
  { name: "repetition_penalty", kind: "number", min: 0.01, max: 100 },
  { name: "frequency_penalty", kind: "number", min: -2, max: 2 },
  { name: "presence_penalty", kind: "number", min: -2, max: 2 },
  { name: "seed", kind: "integer", min: 0, max: 4_294_967_295 },
];
const FIELDS = [...SHOWN, ...MORE];
/** @type {Set<string>} */
const wrong = new Set();

/** The settings of the next answer; its seed is drawn now where none is chosen. */
export function settingsNow() {
  const { settings } = model.talk.conversation;
  const seed = settings.seed ?? crypto.getRandomValues(new Uint32Array(1))[0];
  return { ...settings, seed };
}

/** The temperature of the next answer. */
export function temperatureNow() {
  return model.talk.conversation.settings.temperature
    ?? model.library.loaded?.defaults.temperature ?? null;
}

/** Whether every field holds a value that can be; focuses the first that does not. */
export function checkChatSettings() {
  const bad = FIELDS.find((field) => wrong.has(field.name));
  if (!bad) return true;
  const input = byId(`chat-${bad.name}`);
  input.closest("details")?.setAttribute("open", "");
  input.focus();
  return false;
}

/** @param {Field} field */
function range(field) {
  const kind = field.kind === "integer" ? text.settings.whole : text.settings.any;
  return text.settings.between(kind, String(field.min), String(field.max));
}

/**
 * @param {Field} field
 * @param {HTMLInputElement} input
 */
function take(field, input) {
  const empty = input.value.trim() === "" && !input.validity.badInput;
  const value = empty ? null : parse(field, input.value);
  const bad = !empty && value === null;
  const [label] = text.chat.settings.names[field.name];
  setText(byId(`chat-${field.name}-wrong`),
    bad ? text.settings.invalid(label, range(field)) : "");
  input.toggleAttribute("aria-invalid", bad);
  if (bad) {
    wrong.add(field.name);
    byId(`chat-${field.name}-reset`).hidden = false;
    return;
  }
  wrong.delete(field.name);
  const { [field.name]: _, ...others } = model.talk.conversation.settings;
  changeConversation({
    settings: value === null ? others : { ...others, [field.name]: Number(value) },
  });
}

/** @param {Field} field */
function row(field) {
  const id = `chat-${field.name}`;
  const [label, hint] = text.chat.settings.names[field.name];
  const input = make("input", {
    id, type: "number", step: field.kind === "integer" ? 1 : "any", min: field.min ?? 0,
    max: field.max ?? "", inputmode: field.kind === "integer" ? "numeric" : "decimal",
    autocomplete: "off", "aria-describedby": `${id}-hint`,
  });
  input.addEventListener("input", () => take(field, input));
  const reset = make("button", {
    type: "button", class: "quiet", id: `${id}-reset`, text: text.chat.settings.reset,
    "aria-label": `${text.chat.settings.reset} ${label}`, onclick: () => {
      input.value = "";
      take(field, input);
      input.focus();
    },
  });
  return make("div", { class: "field setting" }, [
    make("label", { for: id, text: label }),
    make("span", { class: "entry" }, [input, reset]),
    make("p", { class: "note", id: `${id}-hint` }, [
      hint, " ", make("span", { id: `${id}-own`, class: "usual" }),
    ]),
    make("p", { class: "wrong", id: `${id}-wrong`, role: "status" }),
  ]);
}

/** @param {Field} field */
function own(field) {
  if (field.name === "seed") return text.chat.settings.anew;
  const value = model.library.loaded?.defaults[field.name];
  return value === null || value === undefined ? text.chat.settings.ownUnknown
    : text.chat.settings.own(String(value));
}

function draw() {
  const { settings } = model.talk.conversation;
  const defaults = model.library.loaded?.defaults;
  for (const field of FIELDS) {
    const input = /** @type {HTMLInputElement} */ (byId(`chat-${field.name}`));
    const value = settings[field.name];
    if (!wrong.has(field.name)) {
      const shown = value === null || value === undefined ? "" : String(value);
      if (input.value !== shown) input.value = shown;
    }
    const usual = field.name === "seed" ? null : defaults?.[field.name];
    input.placeholder = usual === null || usual === undefined ? "" : String(usual);
    byId(`chat-${field.name}-reset`).hidden = value === undefined && !wrong.has(field.name);
    setText(byId(`chat-${field.name}-own`), own(field));
  }
  const system = /** @type {HTMLTextAreaElement} */ (byId("chat-system"));
  if (system.value !== model.talk.conversation.system) {
    system.value = model.talk.conversation.system;
  }
}

/** Sets up the form. */
export function setUpChatSettings() {
  fill(byId("chat-settings-shown"), SHOWN.map(row));
  fill(byId("chat-settings-more"), MORE.map(row));
  const system = /** @type {HTMLTextAreaElement} */ (byId("chat-system"));
  system.addEventListener("input", () => changeConversation({ system: system.value }));
  byId("chat-settings-reset").addEventListener("click", () => {
    wrong.clear();
    for (const { name } of FIELDS) {
      setText(byId(`chat-${name}-wrong`), "");
      byId(`chat-${name}`).removeAttribute("aria-invalid");
    }
    changeConversation({ settings: {} });
  });
  watch((m) => [m.talk.conversation, m.library.loaded], draw);
}
