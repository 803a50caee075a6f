/** Adapters: those of all models, deleting one, and taking in a folder that peft has written. */

import { byId, fill, fillKeepingFocus, make, setText } from "./dom.js";
import { readChosen } from "./folder.js";
import { bytes, number } from "./format.js";
import { modelNamed, tellProblem, usable } from "./library.js";
import { changed, model, watch } from "./model.js";
import { addNotice } from "./notices.js";
import { goTo } from "./places.js";
import { clearProblem, describeProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Adapter} Adapter */
/** @typedef {import("./folder.js").Found} Found */

const CONFIG = "adapter_config.json";
const PLACES = ["models", "chat", "finetune"];

/** The adapter whose deletion waits for a yes, and the folder that waits for its model. */
let doomed = "";
/** @type {{title: string, base: string, files: File[]} | null} */
let waiting = null;
/** Draws again when only this file's own state has changed. */
let version = 0;

function redraw() {
  version += 1;
  changed();
}

/**
 * Asks which adapters are here.
 * @param {Client} client
 */
export async function refreshAdapters(client) {
  try {
    await client.command("adapters", { model: null });
  } catch (reason) {
    tellProblem(reason, "finetune-adapters-problem");
  }
}

/** Adapters of one model that can be used. @param {string} name */
export function adaptersOf(name) {
  return model.tune.adapters.filter((one) => one.model === name && !one.problem);
}

/**
 * The folder that is an adapter, if there is one among these files.
 * @param {Found[]} found
 * @returns {{title: string, files: File[]} | null}
 */
export function adapterAmong(found) {
  const config = found.find(({ file }) => file.name === CONFIG);
  if (!config) return null;
  const folder = config.path.slice(0, -CONFIG.length);
  const files = found.filter(({ path }) => path.startsWith(folder)
    && !path.slice(folder.length).includes("/")).map(({ file }) => file);
  return { title: folder.split("/").at(-2) ?? text.finetune.adapters.title, files };
}

/** The model that an adapter says it was made for. @param {File} config */
async function baseOf(config) {
  try {
    const named = JSON.parse(await config.text()).base_model_name_or_path;
    return typeof named === "string" ? named : "";
  } catch (reason) {
    // What is wrong with the file is said by the worker, which reads all of it.
    if (reason instanceof SyntaxError || reason instanceof DOMException) return "";
    throw reason;
  }
}

/**
 * An adapter's folder was dropped or chosen: asks which model it belongs to.
 * @param {Found[]} found
 */
export async function offerAdapter(found) {
  const words = text.finetune.adapters;
  clearProblem(byId("adapter-problem"));
  goTo("models");
  const among = adapterAmong(found);
  if (!among) {
    showProblem({ code: "checkpoint", message: words.notAdapter, expected: words.expected,
      received: words.received(number(found.length)) }, byId("adapter-problem"));
    return;
  }
  const config = among.files.find((file) => file.name === CONFIG);
  waiting = { ...among, base: config ? await baseOf(config) : "" };
  redraw();
  requestAnimationFrame(() => requestAnimationFrame(() => byId("adapter-model").focus()));
}

/** How well a model's name fits what an adapter was made for. @param {string} base */
function likeliest(base) {
  const plain = (/** @type {string} */ words) => words.toLowerCase().replace(/[^a-z0-9]/g, "");
  const wanted = plain(base.slice(base.lastIndexOf("/") + 1));
  const fits = usable().find((one) => wanted !== ""
    && [one.model, one.title, one.source ?? ""].some((name) => plain(name).includes(wanted)));
  return (fits ?? usable()[0])?.model ?? "";
}

function drawForm() {
  const words = text.finetune.adapters;
  const form = byId("adapter-form");
  const fresh = form.hidden;
  form.hidden = waiting === null;
  if (!waiting) return;
  setText(byId("adapter-form-words"), usable().length === 0 ? words.noModel
    : waiting.base ? words.foundFor(waiting.title, waiting.base) : words.found(waiting.title));
  const select = /** @type {HTMLSelectElement} */ (byId("adapter-model"));
  const chosen = fresh ? likeliest(waiting.base) : select.value;
  fill(select, usable().map((one) => make("option", { value: one.model, text: one.title })));
  select.value = chosen || likeliest(waiting.base);
}

/** @param {Client} client @param {Adapter} one */
function confirmation(client, one) {
  const words = text.finetune.adapters;
  return make("div", { class: "confirm", role: "group" }, [
    make("p", { text: words.confirm(one.title, bytes(one.bytes)) }),
    make("div", { class: "row" }, [
      make("button", {
        type: "button", class: "grave", id: `adapter-delete-yes-${one.adapter}`,
        text: words.confirmYes(one.title), onclick: async () => {
          doomed = "";
          clearProblem(byId("finetune-adapters-problem"));
          try {
            await client.command("delete_adapter", { adapter: one.adapter });
          } catch (reason) {
            tellProblem(reason, "finetune-adapters-problem");
          }
          redraw();
        },
      }),
      make("button", {
        type: "button", id: `adapter-delete-no-${one.adapter}`, text: words.confirmNo,
        onclick: () => {
          doomed = "";
          redraw();
          requestAnimationFrame(() => requestAnimationFrame(() =>
            document.getElementById(`adapter-delete-${one.adapter}`)?.focus()));
        },
      }),
    ]),
  ]);
}

/** @param {Client} client @param {Adapter} one @param {(name: string) => void} chat */
function row(client, one, chat) {
  const words = text.finetune.adapters;
  const { ofModel } = text.models.here;
  return make("li", {}, [
    make("div", { class: "run-head" }, [make("strong", { text: one.title })]),
    make("p", { class: "note", text: words.line(number(one.r), one.target_modules.join(", "),
      bytes(one.bytes)) }),
    make("p", { class: "note", text: words.of(modelNamed(one.model)?.title ?? one.model,
      one.step ? number(one.step) : "") }),
    ...(one.problem ? [make("div", { class: "problem" }, describeProblem(one.problem))] : []),
    doomed === one.adapter ? confirmation(client, one) : make("div", { class: "row" }, [
      ...(one.problem || !modelNamed(one.model) ? [] : [make("button", {
        type: "button", class: "quiet", id: `adapter-chat-${one.adapter}`, text: words.chat,
        "aria-label": ofModel(words.chat, one.title), onclick: () => chat(one.adapter) })]),
      // The one of a fine-tune goes with its run.
      ...(one.run ? [] : [make("button", {
        type: "button", class: "quiet", id: `adapter-delete-${one.adapter}`, text: words.delete,
        "aria-label": ofModel(words.delete, one.title), onclick: () => {
          doomed = one.adapter;
          redraw();
          requestAnimationFrame(() => requestAnimationFrame(() =>
            document.getElementById(`adapter-delete-yes-${one.adapter}`)?.focus()));
        },
      })]),
    ]),
  ]);
}

/** @param {Client} client */
function setUpForm(client) {
  byId("adapter-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const select = /** @type {HTMLSelectElement} */ (byId("adapter-model"));
    if (!waiting || !select.value) return;
    clearProblem(byId("adapter-problem"));
    const { title, files } = waiting;
    try {
      const { adapter } = await client.command("add_adapter",
        { title, model: select.value, files });
      waiting = null;
      addNotice("adapter", text.models.transfer.arrived(adapter.title));
    } catch (reason) {
      tellProblem(reason, "adapter-problem");
    }
    redraw();
  });
  byId("adapter-cancel").addEventListener("click", () => {
    waiting = null;
    redraw();
  });
  const input = /** @type {HTMLInputElement} */ (byId("adapter-files"));
  input.addEventListener("change", () => {
    const found = readChosen(input.files ?? new DataTransfer().files);
    input.value = "";
    if (found.length) void offerAdapter(found);
  });
}

/**
 * @param {Client} client
 * @param {(adapter: string) => void} chat opens Chat with an adapter
 */
export function setUpAdapters(client, chat) {
  setUpForm(client);
  let known = false;
  watch((m) => [m.phase, PLACES.includes(m.place)], () => {
    if (model.phase !== "ready") known = false;
    else if (!known && PLACES.includes(model.place)) {
      known = true;
      void refreshAdapters(client);
    }
  });
  watch((m) => [m.library.models, version], drawForm);
  watch((m) => [m.tune.adapters, m.library.models, version], () => {
    const { adapters } = model.tune;
    fillKeepingFocus(byId("finetune-adapters"), adapters.map((one) => row(client, one, chat)));
    setText(byId("finetune-adapters-none"), adapters.length ? "" : text.finetune.adapters.none);
  });
}
