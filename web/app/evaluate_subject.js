/** On what a model is measured: a text or a task set, that came with the page or is one's own. */

import { bytesOf, setUpFile, setUpPaste } from "./bring.js";
import { byId, fill, make, setText } from "./dom.js";
import { BUILT_IN, here, judge, needs } from "./evaluate_state.js";
import { bytes, number } from "./format.js";
import { changed, model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Corpus} Corpus */

const MOST_LINES = 50;

/**
 * Gives a file to the worker, and measures on it from now on.
 * @param {Client} client
 * @param {string} name
 * @param {Uint8Array} data moved to the worker
 * @param {boolean} asTasks whether it is a task set
 */
async function bring(client, name, data, asTasks) {
  const home = byId("evaluate-problem");
  clearProblem(home);
  try {
    const { corpus } = await client.command("add_corpus", { title: name, text: data });
    if (asTasks) judge.tasks = corpus.sha256;
    else Object.assign(judge, { corpus: corpus.sha256, picked: true });
    changed();
    return true;
  } catch (reason) {
    showProblem(here(reason, asTasks ? "evaluate-tasks" : "evaluate-corpus"), home);
    return false;
  }
}

/**
 * Reads a file that was chosen or dropped here.
 * @param {Client} client
 * @param {File} file
 * @param {boolean} [asTasks] said where the control says it; else the file's ending does
 */
export async function addJudgedFile(client, file, asTasks) {
  const { tasks, text: needsText } = needs();
  const isTasks = asTasks ?? (tasks && (!needsText || /\.(jsonl|ndjson)$/i.test(file.name)));
  const data = await bytesOf(file, byId("evaluate-problem"));
  if (data) await bring(client, file.name, data, isTasks);
}

/** @param {string} label @param {HTMLOptionElement[]} options */
const group = (label, options) =>
  (options.length ? [make("optgroup", { label }, options)] : []);

/** @param {Corpus[]} corpora */
function textOptions(corpora) {
  const words = text.evaluate.subject;
  return corpora.map((one) => make("option", {
    value: one.sha256, text: words.option(one.name, bytes(one.bytes)) }));
}

/** The text that the chosen adapter or run has learned, if it is here. */
function learned() {
  const adapter = model.tune.adapters.find((one) => one.adapter === judge.adapter);
  const run = model.runs.find((one) => one.run === (adapter ? adapter.run : judge.model));
  return model.corpora.find((one) => one.sha256 === run?.corpus.sha256)?.sha256 ?? "";
}

function drawTexts() {
  const words = text.evaluate.subject;
  const { corpora } = model;
  const { text: needsText, mayLackText } = needs();
  byId("evaluate-text-block").hidden = !needsText;
  setText(byId("evaluate-corpus-label"), mayLackText ? words.lookUp
    : judge.kind === "memorisation" ? words.training : words.text);
  const select = /** @type {HTMLSelectElement} */ (byId("evaluate-corpus"));
  // What was learned is no held-out text; to look things up in, or for recitals, it is the one.
  if (!judge.picked) judge.corpus = judge.kind === "text" ? "" : learned();
  if (judge.corpus && !corpora.some((one) => one.sha256 === judge.corpus)) judge.corpus = "";
  const own = corpora.filter((one) => !one.builtin);
  fill(select, [
    ...(mayLackText || !judge.corpus ? [make("option", { value: "",
      text: mayLackText ? words.noLookUp : words.nothing })] : []),
    ...group(words.own, textOptions(own)),
    ...group(words.page, textOptions(corpora.filter((one) => one.builtin))),
  ]);
  select.value = judge.corpus;
}

function drawTasks() {
  const words = text.evaluate.subject;
  byId("evaluate-tasks-block").hidden = !needs().tasks;
  const select = /** @type {HTMLSelectElement} */ (byId("evaluate-tasks"));
  const own = model.corpora.filter((one) => !one.builtin);
  if (!BUILT_IN.includes(judge.tasks) && !own.some((one) => one.sha256 === judge.tasks)) {
    judge.tasks = BUILT_IN[0];
  }
  fill(select, [
    ...group(words.page, BUILT_IN.map((name) =>
      make("option", { value: name, text: words.sets[name] }))),
    ...group(words.own, textOptions(own)),
  ]);
  select.value = judge.tasks;
}

function drawTaskFacts() {
  const words = text.evaluate.subject;
  const { facts, reading } = judge;
  setText(byId("evaluate-tasks-found"), reading ? words.reading : facts
    ? words.found(number(facts.items - facts.clozes), number(facts.clozes)) : "");
  const bad = facts?.bad_count ?? 0;
  byId("evaluate-bad").hidden = bad === 0;
  if (!facts || bad === 0) return;
  setText(byId("evaluate-bad-words"), words.bad(number(bad)));
  const shown = facts.bad_lines.slice(0, MOST_LINES);
  fill(byId("evaluate-bad-list"), [
    ...shown.map(({ line, reason }) => make("li", { text: words.line(number(line), reason) })),
    ...(bad > shown.length ? [make("li", { text: words.more(number(bad - shown.length)) })] : []),
  ]);
}

/** The set that was asked about last: an answer about another is not shown. */
let asked = "";

/** @param {Client} client */
async function readTasks(client) {
  const mine = asked = judge.tasks;
  Object.assign(judge, { facts: null, reading: true });
  clearProblem(byId("evaluate-tasks-found"));
  changed();
  try {
    const facts = await client.command("read_tasks", { tasks: mine });
    if (mine === asked) judge.facts = facts;
  } catch (reason) {
    if (mine !== asked) return;
    asked = "";
    if (model.phase === "ready") showProblem(here(reason), byId("evaluate-tasks-found"));
  } finally {
    if (mine === asked || asked === "") judge.reading = false;
    changed();
  }
}

/** @param {Client} client */
export function setUpEvaluateSubject(client) {
  setUpPaste("evaluate", (data) => bring(client, text.evaluate.subject.pasteName, data, false));
  setUpFile("evaluate-file", (file) => addJudgedFile(client, file, false));
  setUpFile("evaluate-tasks-file", (file) => addJudgedFile(client, file, true));
  for (const which of /** @type {const} */ (["corpus", "tasks"])) {
    const select = /** @type {HTMLSelectElement} */ (byId(`evaluate-${which}`));
    select.addEventListener("change", () => {
      judge[which] = select.value;
      if (which === "corpus") judge.picked = true;
      clearProblem(byId("evaluate-problem"));
      changed();
    });
  }
  watch((m) => [m.corpora, m.runs, m.tune.adapters, judge.model, judge.adapter, judge.kind,
    judge.corpus, judge.tasks], () => {
    drawTexts();
    drawTasks();
    changed();
  });
  watch(() => [judge.facts, judge.reading], drawTaskFacts);
  watch((m) => [m.phase, m.place, judge.kind, judge.tasks], () => {
    if (model.phase !== "ready") asked = "";
    const wanted = model.phase === "ready" && model.place === "finetune" && needs().tasks;
    if (wanted && asked !== judge.tasks) void readTasks(client);
  });
}
