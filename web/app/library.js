/** What the page does with models: asking about one, getting, copying, loading, deleting. */

import { byId } from "./dom.js";
import { bytes } from "./format.js";
import { Failure } from "./client.js";
import { changed, emptyLibrary, homeOf, model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";
import { headersFor } from "./token.js";

/** @typedef {import("./client.js").Client} Client */

/** Places that show models. */
const PLACES = ["models", "chat", "finetune"];

/** @typedef {import("./types.js").Run} Run */

/** @param {unknown} reason */
export function wasCancelled(reason) {
  return reason instanceof Failure && reason.problem.code === "cancelled";
}

/** The control that a problem names when a host gives a file only with an access token. */
const TOKEN = "access-token";

/**
 * The sheet of a model whose host wants an access token; null for any other failure.
 * @param {unknown} reason
 * @param {{at: string, source: string, title: string}} asked
 * @returns {import("./model.js").Sheet | null}
 */
function refusal(reason, asked) {
  if (!(reason instanceof Failure) || reason.problem.control !== TOKEN) return null;
  return { ...asked, facts: null, refused: reason.problem };
}

/**
 * Shows a problem, unless the worker has died: then one notice says it all.
 * @param {unknown} reason
 * @param {string} home
 */
export function tellProblem(reason, home) {
  if (model.phase !== "crashed") showProblem(reason, byId(home));
}

/** @param {string} words for those who do not see the place */
export function say(words) {
  byId("library-live").textContent = words;
}

/**
 * Asks what is offered and what is here.
 * @param {Client} client
 */
export async function refreshModels(client) {
  try {
    await client.command("models");
  } catch (reason) {
    tellProblem(reason, "here-problem");
  }
}

/**
 * What a person should know before a download.
 * @param {Client} client
 * @param {{at: string, source: string, title: string}} asked
 */
export async function lookAt(client, asked) {
  const { library } = model;
  clearProblem(byId("sheet-problem"));
  const sheet = { ...asked, facts: null, refused: null };
  library.sheet = sheet;
  changed();
  try {
    const { source } = asked;
    const { facts } = await client.command("model_facts", { source, ...headersFor(source) });
    if (library.sheet !== sheet) return;
    library.sheet = { ...sheet, title: facts.title, facts };
  } catch (reason) {
    if (library.sheet !== sheet) return;
    library.sheet = refusal(reason, asked);
    const home = asked.at === "own" ? "own-problem" : "catalogue-problem";
    if (!library.sheet) tellProblem(reason, home);
  }
  changed();
}

/** The row of the catalogue that a model is in, or that of one's own. @param {string} source */
function rowOf(source) {
  const at = model.library.catalogue.findIndex((entry) => entry.source === source);
  return at < 0 ? "own" : String(at);
}

/**
 * Runs what moves bytes, shows them meanwhile, and says how it ended.
 * @param {Client} client
 * @param {{title: string, copied: boolean, home: string, source?: string}} what `home` is where a
 *   problem belongs
 * @param {() => Promise<unknown>} move
 */
async function transfer(client, { title, copied, home, source = "" }, move) {
  const { library } = model;
  clearProblem(byId(home));
  if (library.transfer) {
    showProblem({ code: "busy", message: text.models.sheet.busy }, byId(home));
    return;
  }
  say("");
  library.transfer = {
    title, copied, cancelling: false, file: "", fileDone: 0, fileBytes: 0, done: 0, bytes: 0,
    secondsLeft: null,
  };
  changed();
  let words = "";
  try {
    await move();
    words = text.models.transfer.arrived(title);
  } catch (reason) {
    if (wasCancelled(reason)) {
      words = copied ? text.models.transfer.dropped : text.models.transfer.cancelled;
    } else {
      library.sheet = refusal(reason, { at: rowOf(source), source, title });
      if (!library.sheet) tellProblem(reason, home);
    }
  }
  library.transfer = null;
  say(words);
  changed();
  if (model.phase === "ready") await refreshModels(client);
}

/**
 * Downloads a model that was agreed to, or goes on with a download.
 * @param {Client} client
 * @param {string} source
 * @param {string} title
 */
export async function download(client, source, title) {
  model.library.sheet = null;
  // Asked where it is wanted, at the first thing worth keeping; a refusal changes nothing.
  void navigator.storage?.persist?.();
  await transfer(client, { title, copied: false, home: "transfer-problem", source },
    () => client.command("download_model", { source, ...headersFor(source) }));
}

/**
 * Copies a model's files from this computer.
 * @param {Client} client
 * @param {string} title
 * @param {File[]} files
 */
export async function adopt(client, title, files) {
  await transfer(client, { title, copied: true, home: "drop-problem" },
    () => client.command("add_model", { title, files }));
}

/** @param {Client} client */
export async function cancelTransfer(client) {
  const { library } = model;
  if (!library.transfer) return;
  library.transfer = { ...library.transfer, cancelling: true };
  changed();
  try {
    await client.command("cancel_download");
  } catch (reason) {
    tellProblem(reason, "transfer-problem");
  }
}

/** @type {Promise<boolean> | null} */
let loading = null;

/**
 * Puts a model on the GPU.
 * @param {Client} client
 * @param {string} name
 * @returns {Promise<boolean>} whether it is there
 */
export async function load(client, name) {
  const { library } = model;
  if (library.loaded?.model.model === name) return true;
  if (library.loading === name && loading) return loading;
  if (loading) {
    await unload(client);
    await loading;
  }
  loading = loadNow(client, name);
  try {
    return await loading;
  } finally {
    loading = null;
  }
}

/**
 * @param {Client} client
 * @param {string} name
 */
async function loadNow(client, name) {
  const { library } = model;
  clearProblem(byId("chat-load-problem"));
  Object.assign(library, { loading: name, loaded: null, stages: [] });
  changed();
  try {
    await client.command("load_model", { model: name });
    return true;
  } catch (reason) {
    if (wasCancelled(reason)) say(text.chat.model.stopped);
    else tellProblem(reason, "chat-load-problem");
    return false;
  } finally {
    Object.assign(library, { loading: "", stages: [] });
    changed();
  }
}

/**
 * Gives the GPU memory back, or ends the loading under way.
 * @param {Client} client
 */
export async function unload(client) {
  try {
    await client.command("unload_model");
  } catch (reason) {
    tellProblem(reason, model.place === "chat" ? "chat-load-problem" : "here-problem");
  }
}

/** The models that can write. */
export function usable() {
  return model.library.models.filter((one) => one.complete && !one.problem);
}

/** Whether every weight of a model was trained: such a run is a model itself. @param {Run} run */
export function isWhole({ finetune, step }) {
  return finetune?.method === "full" && step > 0;
}

/**
 * Runs of ours that write as models do: those that an adapter was made for, and those that
 * trained every weight of a model.
 * @returns {import("./types.js").StoredModel[]}
 */
function ownWriters() {
  const { runs, tune, library } = model;
  const adapted = (/** @type {Run} */ run) => homeOf(run) === model
    && tune.adapters.some((one) => one.model === run.run);
  return runs.filter((run) => isWhole(run) || adapted(run)).map((run) => ({
    model: run.run, title: run.run, bytes: run.bytes, keep: true, complete: true,
    chat: library.models.find((one) => one.model === run.base)?.chat ?? false,
    done_bytes: run.bytes, added_at: run.saved_at,
  }));
}

/** What Chat can choose among. */
export function writers() {
  return [...usable(), ...ownWriters()];
}

/**
 * @param {string} name
 * @returns {import("./types.js").StoredModel | undefined}
 */
export function modelNamed(name) {
  return [...model.library.models, ...ownWriters()].find((one) => one.model === name);
}

/**
 * Bytes done of all: 12 MB of 269 MB.
 * @param {number} done
 * @param {number} all
 */
export function amount(done, all) {
  return text.models.transfer.amount(bytes(done), bytes(all));
}

/** @param {Client} client */
export function setUpLibrary(client) {
  watch((m) => [m.phase, PLACES.includes(m.place)], () => {
    if (model.phase !== "ready") {
      const { catalogue, models } = model.library;
      // A fresh worker has loaded nothing; what was listed stays in sight until it answers.
      Object.assign(model.library, { ...emptyLibrary(), catalogue, models });
      changed();
    } else if (!model.library.known && PLACES.includes(model.place)) {
      void refreshModels(client);
    }
  });
}
