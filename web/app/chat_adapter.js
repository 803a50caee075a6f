/** One switch: does the loaded model answer with an adapter, which one, and how loud? */

import { adaptersOf } from "./adapters.js";
import { openChat } from "./chat_model.js";
import { byId, fill, make, setText } from "./dom.js";
import { number } from "./format.js";
import { model, ownState, watch } from "./model.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */

/** What the switch says; the worker is told with the next answer. */
const wish = ownState({ on: false, adapter: "", weight: 1 });

/** The adapter that the switch means, among those of the chosen model. */
function meant() {
  const here = adaptersOf(model.talk.chosen);
  return here.find((one) => one.adapter === wish.adapter) ?? here[0];
}

/** A weight as it is said. @param {number} weight */
function weightWords(weight) {
  return number(weight, 2);
}

/**
 * Tells the worker what the next answer is to be written with.
 * @param {Client} client
 * @returns {Promise<string>} the same in words, to stand beside the answer; empty where the model
 *   has no adapter
 */
export async function applyAdapter(client) {
  const one = meant();
  if (!one) return "";
  const words = text.finetune.chat;
  const weight = wish.weight;
  await client.command("use_adapter", { adapter: wish.on ? one.adapter : null, weight });
  return wish.on ? words.wrote(one.title, weightWords(weight)) : words.wroteWithout;
}

/**
 * Goes to Chat with an adapter switched on.
 * @param {Client} client
 * @param {string} name
 */
export function openChatWith(client, name) {
  const one = model.tune.adapters.find((known) => known.adapter === name);
  if (!one) return;
  Object.assign(wish, { on: true, adapter: name, weight: 1 });
  wish.redraw();
  openChat(client, one.model);
}

function draw() {
  const here = adaptersOf(model.talk.chosen);
  const one = meant();
  byId("chat-adapter").hidden = !one;
  if (!one) return;
  const words = text.finetune.chat;
  const toggle = /** @type {HTMLInputElement} */ (byId("chat-adapter-on"));
  const select = /** @type {HTMLSelectElement} */ (byId("chat-adapter-which"));
  const slider = /** @type {HTMLInputElement} */ (byId("chat-adapter-weight"));
  toggle.checked = wish.on;
  setText(byId("chat-adapter-words"), wish.on ? words.on : words.off);
  fill(select, here.map((known) =>
    make("option", { value: known.adapter, text: known.title })));
  select.value = one.adapter;
  select.disabled = !wish.on;
  slider.disabled = !wish.on;
  if (slider.value !== String(wish.weight)) slider.value = String(wish.weight);
  setText(byId("chat-adapter-number"), weightWords(wish.weight));
  setText(byId("chat-adapter-note"),
    model.talk.conversation.messages.length > 0 ? words.next : "");
}

/** Sets up the switch, the choice and the slider. */
export function setUpChatAdapter() {
  const toggle = /** @type {HTMLInputElement} */ (byId("chat-adapter-on"));
  const select = /** @type {HTMLSelectElement} */ (byId("chat-adapter-which"));
  const slider = /** @type {HTMLInputElement} */ (byId("chat-adapter-weight"));
  toggle.addEventListener("change", () => {
    wish.on = toggle.checked;
    wish.redraw();
  });
  select.addEventListener("change", () => {
    wish.adapter = select.value;
    wish.redraw();
  });
  slider.addEventListener("input", () => {
    wish.weight = Number(slider.value);
    wish.redraw();
  });
  watch((m) => [m.tune.adapters, m.talk.chosen, m.library.loaded,
    m.talk.conversation.messages.length > 0, wish.version], draw);
}
