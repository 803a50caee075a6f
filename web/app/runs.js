/** The runs kept in this browser: look, resume, export, import, delete. */

import { perform } from "./actions.js";
import { askFirst, question } from "./deletion.js";
import { byId, download, fill, make, setText } from "./dom.js";
import { ago, bytes, loss, number } from "./format.js";
import { modelNamed } from "./library.js";
import { changed, homeOf, isActive, isBusy, model, ownState, watch } from "./model.js";
import { addNotice } from "./notices.js";
import { goTo } from "./places.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Run} Run */

/**
 * What only one of the lists has in a run's row.
 * @typedef {{buttons: Node[], below: Node[]}} More
 */
/** @type {More} */
const NOTHING = { buttons: [], below: [] };

/** The run whose deletion waits for a yes, and the one that is being packed. */
const state = ownState({ doomed: "", packing: "" });

/**
 * The beginning of the ids of the list that a run stands in.
 * @param {Run | undefined} run
 */
function prefixOf(run) {
  return homeOf(run) === model.tune ? "finetune-" : "";
}

/**
 * @param {Client} client
 * @param {string} name
 * @param {Record<string, unknown>} fields
 */
async function ask(client, name, fields) {
  const run = model.runs.find((known) => known.run === fields.run);
  const home = byId(`${prefixOf(run)}runs-problem`);
  clearProblem(home);
  try {
    return await client.command(name, fields);
  } catch (reason) {
    showProblem(reason, home);
    return null;
  }
}

/**
 * Brings a run into the picture, and trains on if asked to.
 * @param {Client} client
 * @param {Run} run
 * @param {boolean} train
 */
export async function openRun(client, run, train) {
  const home = homeOf(run);
  goTo(home === model.tune ? "finetune" : "train");
  await perform(client, "restore", { run: run.run, train }, home);
}

/**
 * @param {Client} client
 * @param {Run} run
 */
async function exportRun(client, run) {
  state.packing = run.run;
  state.redraw();
  const packed = await ask(client, "export", { run: run.run });
  if (packed) download(packed.name, new Blob([packed.zip], { type: "application/zip" }));
  state.packing = "";
  state.redraw();
}

/**
 * @param {Client} client
 * @param {File} file
 */
export async function importRun(client, file) {
  const data = await file.arrayBuffer();
  const result = await ask(client, "import", { zip: new Uint8Array(data) });
  if (!result) return;
  addNotice("imported", text.runs.imported(result.run.run));
  goTo(homeOf(result.run) === model.tune ? "finetune" : "train");
}

/**
 * The question that names what would go, in place of the run's buttons.
 * @param {Client} client
 * @param {Run} run
 */
function confirmRow(client, run) {
  return question(state, text.runs.confirm(run.run, bytes(run.bytes)),
    { id: `delete-yes-${run.run}`, text: text.runs.confirmYes(run.run) },
    { id: `delete-no-${run.run}`, text: text.runs.confirmNo }, `delete-${run.run}`,
    async () => void await ask(client, "delete", { run: run.run }));
}

/**
 * Asks in the list whether a run should go.
 * @param {Run} run
 */
export function askToDelete(run) {
  askFirst(state, run.run, `delete-yes-${run.run}`);
}

/**
 * @param {Client} client
 * @param {Run} run
 * @param {Node[]} more buttons that only this list has
 */
function buttonRow(client, run, more) {
  const busy = model.phase !== "ready";
  const taken = busy || isBusy();
  const { live } = homeOf(run);
  /** @type {(key: string, words: string, disabled: boolean, onclick: () => void) => Node} */
  const button = (key, words, disabled, onclick) => make("button", {
    type: "button", class: "quiet", id: `${key}-${run.run}`, text: words, disabled,
    "aria-label": text.runs.actionsOf(words, run.run), onclick,
  });
  const buttons = [
    button("look", text.runs.open, taken, () => void openRun(client, run, false)),
    button("export", state.packing === run.run ? text.runs.exporting : text.runs.export,
      busy || state.packing !== "", () => void exportRun(client, run)),
    button("delete", text.runs.delete, busy || (isActive(live) && live.name === run.run),
      () => askToDelete(run)),
  ];
  if (!run.complete) {
    buttons.unshift(button("resume", text.runs.resume, taken,
      () => void openRun(client, run, true)));
  }
  return make("div", { class: "row" }, [...buttons, ...more]);
}

/** What a run was made from. @param {Run} run */
function origin({ base, finetune, preset }) {
  if (!finetune) return preset;
  const words = text.finetune;
  const title = modelNamed(base ?? "")?.title ?? base ?? "";
  return words.runs.origin(title, words.methods[finetune.method] ?? finetune.method);
}

/**
 * @param {Client} client
 * @param {Run} run
 * @param {(run: Run) => More} more
 */
function item(client, run, more) {
  const { live } = homeOf(run);
  const here = live.name === run.run;
  const running = here && isActive(live);
  // A run in training has its numbers in the facts beside the curve; here they would be old.
  const value = running
    ? text.facts.states[live.state] : loss(run.validation_loss ?? run.loss);
  const when = run.complete ? text.runs.complete : ago(run.saved_at);
  return make("li", { class: here ? "here" : "", "data-run": run.run }, [
    make("div", { class: "run-head" }, [
      make("strong", { text: run.run }),
      make("span", { class: "amount", text: value }),
    ]),
    make("p", {
      class: "note",
      text: text.runs.line(origin(run), number(run.step), number(run.max_steps)),
    }),
    make("p", { class: "note", text: [run.corpus.name, bytes(run.bytes), when].join(" \u00b7 ") }),
    ...(state.doomed === run.run ? [confirmRow(client, run)]
      : [buttonRow(client, run, more(run).buttons), ...more(run).below]),
  ]);
}

/**
 * @param {Client} client
 * @param {ReturnType<typeof homeOf>} home
 */
function drawComeBack(client, home) {
  const prefix = home === model ? "" : "finetune-";
  const card = byId(`${prefix}come-back`);
  const run = home.comeBack;
  card.hidden = run === null;
  if (!run) return;
  const { after, resume, look } = text.comeBack;
  const before = home === model ? text.comeBack.before : text.finetune.runs.before;
  fill(card, [
    make("p", {}, [before, make("strong", { text: run.run }),
      after(number(run.step), ago(run.saved_at))]),
    make("div", { class: "row" }, [
      make("button", {
        type: "button", id: `${prefix}come-back-resume`, text: resume,
        onclick: () => void openRun(client, run, true),
      }),
      make("button", {
        type: "button", class: "quiet", id: `${prefix}come-back-look`, text: look,
        onclick: () => void openRun(client, run, false),
      }),
      make("button", {
        type: "button", class: "quiet", id: `${prefix}come-back-delete`, text: text.comeBack.delete,
        onclick: () => askToDelete(run),
      }),
    ]),
  ]);
}

/** At the start of a visit: the newest run of each place that stopped before its end. */
export function findStoppedRun() {
  for (const home of [model, model.tune]) {
    home.comeBack = model.runs.find((run) =>
      homeOf(run) === home && !run.complete && run.step > 0) ?? null;
  }
  changed();
}

/**
 * @param {Client} client
 * @param {ReturnType<typeof homeOf>} home
 * @param {(run: Run) => More} more
 */
function drawRuns(client, home, more) {
  const prefix = home === model ? "" : "finetune-";
  const focused = document.activeElement?.id;
  const runs = model.runs.filter((run) => homeOf(run) === home);
  setText(byId(`${prefix}runs-none`), home === model ? text.runs.none : text.finetune.runs.none);
  byId(`${prefix}runs-none`).hidden = runs.length > 0;
  const inPicture = (/** @type {Run} */ run) =>
    isActive(home.live) && run.run === home.live.name;
  const ordered = [...runs.filter(inPicture), ...runs.filter((r) => !inPicture(r))];
  fill(byId(`${prefix}runs`), ordered.map((run) => item(client, run, more)));
  if (focused && document.activeElement?.id !== focused) {
    document.getElementById(focused)?.focus();
  }
}

/**
 * The list of a place's runs, and the card of the one that stopped before its end.
 * @param {Client} client
 * @param {ReturnType<typeof homeOf>} home
 * @param {(run: Run) => More} [more]
 * @param {() => unknown[]} [seen] what `more` looks at
 */
export function setUpRunList(client, home, more = () => NOTHING, seen = () => []) {
  watch((m) => [m.runs, m.phase, home.live.name, home.live.state, isBusy(), state.version,
    ...seen()], () => drawRuns(client, home, more));
  watch(() => [home.comeBack], () => drawComeBack(client, home));
}

/** @param {Client} client */
export function setUpRuns(client) {
  const input = /** @type {HTMLInputElement} */ (byId("run-import"));
  input.addEventListener("change", async () => {
    const file = input.files?.[0];
    if (file) await importRun(client, file);
    input.value = "";
  });
  client.onMessage((message) => {
    if (message.name === "done") void ask(client, "runs", {});
  });
  setUpRunList(client, model);
}
