/** Taking in an adapter that peft has written: its folder, and the model that it belongs to. */

import { byId, fill, focusSoon, make, setText } from "./dom.js";
import { readChosen } from "./folder.js";
import { number } from "./format.js";
import { tellProblem, usable } from "./library.js";
import { ownState, watch } from "./model.js";
import { addNotice } from "./notices.js";
import { goTo } from "./places.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./folder.js").Found} Found */

const CONFIG = "adapter_config.json";

/** The folder that waits for its model. */
const state = ownState({
  waiting: /** @type {{title: string, base: string, files: File[]} | null} */ (null),
});

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
  state.waiting = { ...among, base: config ? await baseOf(config) : "" };
  state.redraw();
  focusSoon("adapter-model");
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
  const { waiting } = state;
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

/** @param {Client} client */
export function setUpAdapterDrop(client) {
  byId("adapter-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const select = /** @type {HTMLSelectElement} */ (byId("adapter-model"));
    const { waiting } = state;
    if (!waiting || !select.value) return;
    clearProblem(byId("adapter-problem"));
    const { title, files } = waiting;
    try {
      const { adapter } = await client.command("add_adapter",
        { title, model: select.value, files });
      state.waiting = null;
      addNotice("adapter", text.models.transfer.arrived(adapter.title));
    } catch (reason) {
      tellProblem(reason, "adapter-problem");
    }
    state.redraw();
  });
  byId("adapter-cancel").addEventListener("click", () => {
    state.waiting = null;
    state.redraw();
  });
  const input = /** @type {HTMLInputElement} */ (byId("adapter-files"));
  input.addEventListener("change", () => {
    const found = readChosen(input.files ?? new DataTransfer().files);
    input.value = "";
    if (found.length) void offerAdapter(found);
  });
  watch((m) => [m.library.models, state.version], drawForm);
}
