/** Taking a fine-tune home: the adapter or the whole model, as a .zip or into a folder. */

import { openChat } from "./chat_model.js";
import { byId, download, make } from "./dom.js";
import { bytes } from "./format.js";
import { isWhole, tellProblem } from "./library.js";
import { model, ownState } from "./model.js";
import { addNotice } from "./notices.js";
import { clearProblem } from "./problems.js";
import { setUpRunList } from "./runs.js";
import { text } from "./strings.js";
import { canPickFolder, pickFolder, writeFolder } from "./take_home.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Run} Run */

/** The run whose choices are open, what is chosen, and what is being done with which run. */
const state = ownState({ open: "", form: "adapter", dtype: "float32", busy: "", words: "" });

/** Forms that a run can be taken home in. @param {Run} run */
function formsOf(run) {
  return run.finetune?.method === "full" ? ["model"] : ["adapter", "model"];
}

/** @param {string} words what is being done */
function say(words) {
  state.words = words;
  state.redraw();
}

/**
 * Packs a run, hands the archive on, and says at the list what went wrong.
 * @param {Client} client
 * @param {Run} run
 * @param {(packed: {name: string, zip: Uint8Array<ArrayBuffer>}) => Promise<void> | void} hand
 */
async function pack(client, run, hand) {
  const form = formsOf(run).includes(state.form) ? state.form : formsOf(run)[0];
  clearProblem(byId("finetune-runs-problem"));
  state.busy = run.run;
  say(text.finetune.home.packing);
  try {
    // An adapter stays as exact as it was learned: it is small.
    const dtype = form === "adapter" ? "float32" : state.dtype;
    await hand(await client.command("take_home", { run: run.run, form, dtype }));
  } catch (reason) {
    const broken = reason instanceof DOMException
      ? { code: "folder", message: text.finetune.home.notWritten, detail: reason.message } : reason;
    tellProblem(broken, "finetune-runs-problem");
  } finally {
    state.busy = "";
    say("");
  }
}

/** @param {Client} client @param {Run} run */
function toZip(client, run) {
  return pack(client, run, ({ name, zip }) =>
    download(name, new Blob([zip], { type: "application/zip" })));
}

/** @param {Client} client @param {Run} run */
async function toFolder(client, run) {
  // Asked at once: a browser allows the question only in the click itself.
  const place = await pickFolder();
  if (!place) return;
  const words = text.finetune.home;
  await pack(client, run, async ({ zip }) => {
    const folder = await writeFolder(place, zip, (done, total) =>
      say(words.writing(bytes(done), bytes(total))));
    addNotice("taken-home", words.written(folder));
  });
}

/**
 * @param {string} id
 * @param {string} label
 * @param {Record<string, string>} names
 * @param {string[]} values
 * @param {string} chosen
 * @param {(value: string) => void} take
 */
function choice(id, label, names, values, chosen, take) {
  const select = make("select", { id, onchange: () => take(select.value) }, values.map((value) =>
    make("option", { value, text: names[value] })));
  select.value = chosen;
  return make("div", { class: "field" }, [make("label", { for: id, text: label }), select]);
}

/** @param {Client} client @param {Run} run */
function choices(client, run) {
  const words = text.finetune.home;
  const forms = formsOf(run);
  const form = forms.includes(state.form) ? state.form : forms[0];
  const busy = state.busy !== "" || model.phase !== "ready";
  return make("div", { class: "confirm", role: "group", "aria-label": words.of(run.run) }, [
    choice(`home-form-${run.run}`, words.form, words.forms, forms, form, (value) => {
      state.form = value;
      state.redraw();
    }),
    ...(form === "model" ? [choice(`home-dtype-${run.run}`, words.dtype, words.dtypes,
      Object.keys(words.dtypes), state.dtype, (value) => {
        state.dtype = value;
        state.redraw();
      })] : []),
    make("div", { class: "row" }, [
      make("button", { type: "button", id: `home-zip-${run.run}`, disabled: busy,
        text: words.zip, onclick: () => void toZip(client, run) }),
      ...(canPickFolder() ? [make("button", { type: "button", id: `home-folder-${run.run}`,
        disabled: busy, text: words.folder, onclick: () => void toFolder(client, run) })] : []),
    ]),
    make("p", { class: "note", role: "status", text: state.busy === run.run ? state.words : "" }),
  ]);
}

/** @param {Client} client @param {Run} run */
function more(client, run) {
  if (run.step === 0) return { buttons: [], below: [] };
  const words = text.finetune.home;
  const open = state.open === run.run;
  const button = make("button", {
    type: "button", class: "quiet", id: `home-${run.run}`, "aria-expanded": String(open),
    text: words.take, "aria-label": words.of(run.run),
    onclick: () => {
      state.open = open ? "" : run.run;
      state.redraw();
    },
  });
  // An adapter is spoken with through its model; a whole model by itself.
  const chat = isWhole(run) ? [make("button", {
    type: "button", class: "quiet", id: `chat-with-${run.run}`, text: text.models.here.chat,
    "aria-label": text.models.here.ofModel(text.models.here.chat, run.run),
    disabled: model.phase !== "ready", onclick: () => openChat(client, run.run),
  })] : [];
  return { buttons: [...chat, button], below: open ? [choices(client, run)] : [] };
}

/** @param {Client} client */
export function setUpTakeHome(client) {
  setUpRunList(client, model.tune, (run) => more(client, run), () => [state.version]);
}
