/** Adapters that are here: of all models, or of one; chatting with one, exporting, deleting. */

import { askFirst, question } from "./deletion.js";
import { byId, download, fillKeepingFocus, make, setText } from "./dom.js";
import { bytes, number } from "./format.js";
import { modelNamed, tellProblem } from "./library.js";
import { homeOf, model, ownState, watch } from "./model.js";
import { clearProblem, describeProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Adapter} Adapter */
/**
 * A list of adapters: `prefix` begins the ids of its elements; `chat` opens Chat with one.
 * @typedef {{client: Client, prefix: string, chat: (adapter: string) => void}} List
 */

const PLACES = ["models", "chat", "finetune"];

/** The adapter whose deletion waits for a yes, and the one that is being packed. */
const state = ownState({ doomed: "", packing: "" });

/** Changes with what the lists show besides the adapters. */
export function adapterVersion() {
  return state.version;
}

/** Where a problem with an adapter belongs, in the place in sight. */
function problemHome() {
  return model.place === "models" ? "adapter-problem" : "finetune-adapters-problem";
}

/**
 * @param {Client} client
 * @param {string} name
 * @param {Record<string, unknown>} fields
 */
async function ask(client, name, fields) {
  clearProblem(byId(problemHome()));
  try {
    return await client.command(name, fields);
  } catch (reason) {
    tellProblem(reason, problemHome());
    return null;
  }
}

/** Adapters of one model that can be used. @param {string} name */
export function adaptersOf(name) {
  return model.tune.adapters.filter((one) => one.model === name && !one.problem);
}

/** @param {List} list @param {Adapter} one */
function confirmation({ client, prefix }, one) {
  const words = text.finetune.adapters;
  const id = `${prefix}-delete`;
  return question(state, words.confirm(one.title, bytes(one.bytes)),
    { id: `${id}-yes-${one.adapter}`, text: words.confirmYes(one.title) },
    { id: `${id}-no-${one.adapter}`, text: words.confirmNo }, `${id}-${one.adapter}`,
    async () => void await ask(client, "delete_adapter", { adapter: one.adapter }));
}

/** @param {Client} client @param {Adapter} one */
async function exportAdapter(client, one) {
  state.packing = one.adapter;
  state.redraw();
  const packed = await ask(client, "take_home",
    { run: one.run, form: "adapter", dtype: "float32" });
  if (packed) download(packed.name, new Blob([packed.zip], { type: "application/zip" }));
  state.packing = "";
  state.redraw();
}

/** @param {List} list @param {Adapter} one */
function buttons({ client, prefix, chat }, one) {
  const words = text.finetune.adapters;
  const button = (/** @type {string} */ key, /** @type {string} */ label,
    /** @type {() => void} */ onclick) => make("button", {
    type: "button", class: "quiet", id: `${prefix}-${key}-${one.adapter}`, text: label, onclick,
    disabled: model.phase !== "ready", "aria-label": text.models.here.ofModel(label, one.title),
  });
  const row = [];
  if (!one.problem && modelNamed(one.model)) {
    row.push(button("chat", words.chat, () => chat(one.adapter)));
  }
  // The one of a fine-tune goes with its run; one that was brought is at home already.
  if (one.run) {
    const { exporting, export: label } = text.runs;
    row.push(button("export", state.packing === one.adapter ? exporting : label,
      () => void exportAdapter(client, one)));
  } else {
    row.push(button("delete", words.delete,
      () => askFirst(state, one.adapter, `${prefix}-delete-yes-${one.adapter}`)));
  }
  return make("div", { class: "row" }, row);
}

/**
 * One adapter in a list.
 * @param {List} list
 * @param {Adapter} one
 */
export function adapterItem(list, one) {
  const words = text.finetune.adapters;
  return make("li", {}, [
    make("div", { class: "run-head" }, [make("strong", { text: one.title })]),
    make("p", { class: "note", text: words.line(number(one.r), one.target_modules.join(", "),
      bytes(one.bytes)) }),
    make("p", { class: "note", text: words.of(modelNamed(one.model)?.title ?? one.model) }),
    ...(one.problem ? [make("div", { class: "problem" }, describeProblem(one.problem))] : []),
    state.doomed === one.adapter ? confirmation(list, one) : buttons(list, one),
  ]);
}

/**
 * Asks which adapters are here, when a place shows them or a fine-tune has come or gone.
 * @param {Client} client
 */
function keepAsking(client) {
  let known = "";
  watch((m) => [m.phase, PLACES.includes(m.place), m.runs], () => {
    if (model.phase !== "ready") known = "";
    if (model.phase !== "ready" || !PLACES.includes(model.place)) return;
    const now = `all ${model.runs.filter((run) => homeOf(run) === model.tune)
      .map((run) => `${run.run} ${run.step}`).join()}`;
    if (now === known) return;
    known = now;
    void ask(client, "adapters", { model: null });
  });
}

/**
 * @param {Client} client
 * @param {(adapter: string) => void} chat
 */
export function setUpAdapters(client, chat) {
  const list = { client, prefix: "adapter", chat };
  keepAsking(client);
  watch((m) => [m.tune.adapters, m.library.models, m.phase, state.version], () => {
    const { adapters } = model.tune;
    fillKeepingFocus(byId("finetune-adapters"), adapters.map((one) => adapterItem(list, one)));
    setText(byId("finetune-adapters-none"), adapters.length ? "" : text.finetune.adapters.none);
  });
}
