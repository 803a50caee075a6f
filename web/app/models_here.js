/** The models that are here: how much each takes, keep, delete, chat, and the room used. */

import { adapterItem, adapterVersion, adaptersOf } from "./adapters.js";
import { openChatWith } from "./chat_adapter.js";
import { askFirst } from "./deletion.js";
import { byId, fill, fillKeepingFocus, focusSoon, make, setText } from "./dom.js";
import { bytes, number } from "./format.js";
import { openChat } from "./chat_model.js";
import { download, tellProblem, unload } from "./library.js";
import { model, ownState, watch } from "./model.js";
import { clearProblem, describeProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").StoredModel} StoredModel */

/** The model whose deletion waits for a yes. */
const state = ownState({ doomed: "" });

/**
 * @param {Client} client
 * @param {string} name
 * @param {Record<string, unknown>} fields
 */
async function ask(client, name, fields) {
  clearProblem(byId("here-problem"));
  try {
    await client.command(name, fields);
    await client.command("models");
  } catch (reason) {
    tellProblem(reason, "here-problem");
    state.redraw();
  }
}

/** @param {StoredModel} one */
function describe(one) {
  const { here, catalogue } = text.models;
  if (!one.complete) return here.cut(bytes(one.done_bytes), bytes(one.bytes));
  const parts = [bytes(one.bytes)];
  if (one.model_type) parts.push(one.model_type);
  if (one.precision) parts.push(one.precision);
  if (one.licence) parts.push(one.licence);
  if (!one.problem) parts.push(one.chat ? catalogue.chats : catalogue.goesOn);
  return here.line(parts);
}

/**
 * @param {Client} client
 * @param {StoredModel} one
 */
function confirmation(client, one) {
  const { here } = text.models;
  return make("div", { class: "confirm", role: "group" }, [
    make("p", { text: here.confirm(one.title, bytes(one.done_bytes)) }),
    make("div", { class: "row" }, [
      make("button", {
        type: "button", id: `model-delete-yes-${one.model}`, text: here.confirmYes(one.title),
        onclick: () => {
          state.doomed = "";
          void ask(client, "delete_model", { model: one.model });
        },
      }),
      make("button", {
        type: "button", class: "quiet", id: `model-delete-no-${one.model}`, text: here.confirmNo,
        onclick: () => {
          state.doomed = "";
          state.redraw();
          focusSoon(`model-delete-${one.model}`);
        },
      }),
    ]),
  ]);
}

/**
 * @param {string} words
 * @param {StoredModel} one
 * @param {string} id
 * @param {() => void} onclick
 */
function button(words, one, id, onclick) {
  return make("button", {
    type: "button", class: "quiet", id: `${id}-${one.model}`, text: words, onclick,
    "aria-label": text.models.here.ofModel(words, one.title),
  });
}

/**
 * @param {Client} client
 * @param {StoredModel} one
 */
function buttons(client, one) {
  const { here } = text.models;
  const { library } = model;
  const row = [];
  const { source } = one;
  if (!one.complete && source && !library.transfer) {
    row.push(button(here.goOn, one, "model-go-on",
      () => void download(client, source, one.title)));
  }
  if (one.complete && !one.problem) {
    row.push(button(here.chat, one, "model-chat", () => openChat(client, one.model)));
  }
  if (library.loaded?.model.model === one.model) {
    row.push(button(here.unload, one, "model-unload", () => void unload(client)));
  }
  if (!one.keep && state.doomed !== one.model) {
    row.push(button(here.delete, one, "model-delete", () => {
      askFirst(state, one.model, `model-delete-yes-${one.model}`);
    }));
  }
  if (one.complete) {
    row.push(make("label", { class: "option keep", title: here.keepHint }, [
      make("input", {
        type: "checkbox", id: `model-keep-${one.model}`, checked: one.keep,
        "aria-label": here.ofModel(here.keep, one.title), onchange: (event) => {
          const keep = /** @type {HTMLInputElement} */ (event.target).checked;
          if (keep) void navigator.storage?.persist?.();
          void ask(client, "keep_model", { model: one.model, keep });
        },
      }),
      make("span", { text: here.keep }),
    ]));
  }
  return row;
}

/** Models whose adapters are unfolded; the list is drawn anew with each change. */
const unfolded = new Set();

/**
 * The adapters of a model, folded.
 * @param {Client} client
 * @param {StoredModel} one
 */
function adapters(client, one) {
  const here = adaptersOf(one.model);
  if (here.length === 0) return [];
  const list = { client, prefix: "model-adapter",
    chat: (/** @type {string} */ name) => openChatWith(client, name) };
  const details = make("details", { open: unfolded.has(one.model) }, [
    make("summary", { id: `model-adapters-${one.model}`,
      text: text.finetune.adapters.heads(number(here.length)) }),
    make("ul", {}, here.map((adapter) => adapterItem(list, adapter))),
  ]);
  details.addEventListener("toggle", () => {
    if (details.open) unfolded.add(one.model);
    else unfolded.delete(one.model);
  });
  return [details];
}

/**
 * @param {Client} client
 * @param {StoredModel} one
 */
function row(client, one) {
  const { here } = text.models;
  const loaded = model.library.loaded?.model.model === one.model;
  return make("li", { class: loaded ? "here" : "" }, [
    make("div", { class: "run-head" }, [
      make("strong", { text: one.title }),
      ...(loaded ? [make("span", { class: "tag", text: here.loaded })] : []),
    ]),
    make("p", { class: "note amount", text: describe(one) }),
    ...(one.problem ? [make("div", { class: "problem" }, describeProblem(one.problem))] : []),
    ...(!one.complete && !one.source ? [make("p", { class: "note", text: here.noSource })] : []),
    make("div", { class: "row" }, buttons(client, one)),
    ...(state.doomed === one.model ? [confirmation(client, one)] : []),
    ...adapters(client, one),
  ]);
}

/** @param {Client} client */
function draw(client) {
  const { models } = model.library;
  // What is on its way has its own card.
  const listed = models.filter((one) => one.complete || !model.library.transfer);
  fillKeepingFocus(byId("here"), listed.map((one) => row(client, one)));
  const { known } = model.library;
  setText(byId("here-none"), known ? (listed.length ? "" : text.models.here.none)
    : text.models.waiting);
}

function drawStorage() {
  const { used, quota, persistent, known } = model.library;
  const { storage } = text.models;
  byId("library-storage").hidden = !known;
  byId("library-bar").hidden = !quota;
  byId("library-bar").setAttribute("value", String(quota ? used / quota : 0));
  setText(byId("library-used"),
    quota ? storage.used(bytes(used), bytes(quota)) : storage.usedOnly(bytes(used)));
  fill(byId("library-kept"), [
    make("strong", { text: storage.local }), persistent ? "" : ` ${storage.notKept}`]);
}

/** @param {Client} client */
export function setUpModelsHere(client) {
  watch((m) => [m.library.models, m.library.loaded, m.library.known, m.tune.adapters,
    m.library.transfer === null, state.version, adapterVersion()], () => draw(client));
  watch((m) => [m.library.used, m.library.quota, m.library.persistent, m.library.known],
    drawStorage);
}
