/** Evaluations that are kept: open, export, delete, and choose two to compare. */

import { askFirst, question } from "./deletion.js";
import { byId, download, fill, fillKeepingFocus, focusSoon, make, setText } from "./dom.js";
import { adapterTitle, here, judge, redraw, titleOf } from "./evaluate_state.js";
import { ago } from "./format.js";
import { model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./evaluate_state.js").Evaluation} Evaluation */

const HOME = "evaluate-kept-problem";
const TYPES = { json: "application/json", markdown: "text/markdown" };
/** The evaluation whose deletion waits for a yes, the file being written, and the two chosen. */
const state = { doomed: "", writing: "", first: "", second: "", redraw };

/**
 * @param {Client} client
 * @param {string} name
 * @param {Record<string, unknown>} [fields]
 */
async function ask(client, name, fields = {}) {
  clearProblem(byId(HOME));
  try {
    return await client.command(name, fields);
  } catch (reason) {
    if (model.phase !== "crashed") showProblem(here(reason), byId(HOME));
    return null;
  }
}

/** Brings a result into the picture. @param {Evaluation} one */
export function show(one) {
  Object.assign(judge, { shown: one, compared: null });
  redraw();
}

/** @param {Client} client @param {Evaluation} one @param {"json" | "markdown"} form */
async function exportOne(client, one, form) {
  const writing = `${one.evaluation} ${form}`;
  state.writing = writing;
  redraw();
  const made = await ask(client, "export_evaluation", { evaluation: one.evaluation, form });
  if (made) download(made.name, new Blob([made.data], { type: TYPES[form] }));
  state.writing = "";
  redraw();
}

/**
 * The two buttons that write an evaluation to a file.
 * @param {Client} client
 * @param {Evaluation} one
 * @param {string} prefix of their ids
 */
export function exportButtons(client, one, prefix) {
  const words = text.evaluate.kept;
  return (/** @type {const} */ (["json", "markdown"])).map((form) => make("button", {
    type: "button", class: "quiet", id: `evaluate-${prefix}-${form}-${one.evaluation}`,
    text: state.writing === `${one.evaluation} ${form}` ? words.writing : words[form],
    "aria-label": words.of(words[form], one.title), disabled: model.phase !== "ready",
    onclick: () => void exportOne(client, one, form) }));
}

/** @param {Client} client @param {Evaluation} one */
function confirmation(client, one) {
  const words = text.evaluate.kept;
  return question(state, words.confirm(one.title),
    { id: `evaluate-yes-${one.evaluation}`, text: words.confirmYes,
      "aria-label": words.of(words.confirmYes, one.title) },
    { id: `evaluate-no-${one.evaluation}`, text: words.confirmNo },
    `evaluate-delete-${one.evaluation}`, async () => {
      const gone = await ask(client, "delete_evaluation", { evaluation: one.evaluation });
      if (gone && judge.shown?.evaluation === one.evaluation) judge.shown = null;
      if (gone) byId("evaluate-kept-heading").focus();
    });
}

/** @param {Client} client @param {Evaluation} one */
function buttons(client, one) {
  const words = text.evaluate.kept;
  const button = (/** @type {"open" | "delete"} */ key, /** @type {() => void} */ onclick) =>
    make("button", { type: "button", class: "quiet", id: `evaluate-${key}-${one.evaluation}`,
      text: words[key], "aria-label": words.of(words[key], one.title), onclick,
      disabled: key === "delete" && model.phase !== "ready" });
  return make("div", { class: "row" }, [
    button("open", () => {
      show(one);
      focusSoon("evaluate-result-heading");
    }),
    ...exportButtons(client, one, "kept"),
    button("delete", () => askFirst(state, one.evaluation, `evaluate-yes-${one.evaluation}`)),
  ]);
}

/** @param {Client} client @param {Evaluation} one */
function item(client, one) {
  const adapter = one.adapter ? adapterTitle(one.adapter) : "";
  const inSight = !judge.compared && judge.shown?.evaluation === one.evaluation;
  return make("li", { class: inSight ? "here" : "" }, [
    make("strong", { text: one.title }),
    make("p", { class: "note", text: text.evaluate.result.line(titleOf(one.model), adapter) }),
    make("p", { class: "note", text: [text.evaluate.form.kinds[one.kind]?.[0] ?? one.kind,
      ago(one.created_at)].join(" \u00b7 ") }),
    state.doomed === one.evaluation ? confirmation(client, one) : buttons(client, one),
  ]);
}

/**
 * The choice of one of two to compare.
 * @param {"first" | "second"} which
 * @param {Evaluation[]} among
 */
function drawChoice(which, among) {
  const select = /** @type {HTMLSelectElement} */ (byId(`evaluate-${which}`));
  if (!among.some((one) => one.evaluation === state[which])) state[which] = "";
  fill(select, [make("option", { value: "", text: text.evaluate.kept.choose }),
    ...among.map((one) => make("option", { value: one.evaluation,
      text: `${one.title}, ${ago(one.created_at)}` }))]);
  select.value = state[which];
}

/** Those that another one of the same kind can be compared with. */
function comparable() {
  return judge.kept.filter((one) => judge.kept.some((other) => other !== one
    && other.kind === one.kind));
}

function drawCompare() {
  const all = comparable();
  byId("evaluate-compare").hidden = all.length === 0;
  setText(byId("evaluate-compare-few"), all.length === 0 && judge.kept.length > 0
    ? text.evaluate.kept.few : "");
  drawChoice("first", all);
  const first = all.find((one) => one.evaluation === state.first);
  drawChoice("second", all.filter((one) => first && one !== first && one.kind === first.kind));
  /** @type {HTMLSelectElement} */ (byId("evaluate-second")).disabled = !first;
}

/** @param {Client} client */
async function compareTwo(client) {
  const { first, second } = state;
  if (!first || !second) {
    showProblem({ code: "settings", message: text.evaluate.kept.chooseTwo,
      control: first ? "evaluate-second" : "evaluate-first" }, byId(HOME));
    return;
  }
  const compared = await ask(client, "compare_evaluations", { first, second });
  if (!compared) return;
  judge.compared = compared;
  redraw();
  focusSoon("evaluate-result-heading");
}

/** @param {Client} client */
export function setUpEvaluateKept(client) {
  for (const which of /** @type {const} */ (["first", "second"])) {
    const select = /** @type {HTMLSelectElement} */ (byId(`evaluate-${which}`));
    select.addEventListener("change", () => {
      state[which] = select.value;
      clearProblem(byId(HOME));
      redraw();
    });
  }
  byId("evaluate-compare").addEventListener("submit", (event) => {
    event.preventDefault();
    void compareTwo(client);
  });
  watch((m) => [m.phase, m.place], () => {
    if (model.phase !== "ready") judge.known = false;
    if (model.phase !== "ready" || model.place !== "finetune" || judge.known) return;
    judge.known = true;
    void ask(client, "evaluations");
  });
  watch((m) => [judge.kept, judge.shown, judge.compared, judge.version, m.phase,
    m.library.models, m.tune.adapters], () => {
    fillKeepingFocus(byId("evaluate-kept"), judge.kept.map((one) => item(client, one)));
    setText(byId("evaluate-kept-none"), judge.kept.length ? "" : text.evaluate.kept.none);
    drawCompare();
  });
}
