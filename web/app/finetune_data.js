/** The data of a fine-tune: choosing it, what was found in it, and lines that cannot be used. */

import { bytesOf, setUpFile, setUpPaste } from "./bring.js";
import { byId, facts, fill, fillKeepingFocus, make, setText } from "./dom.js";
import { bytes, number } from "./format.js";
import { PREVIEW_ROWS, changed, model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Corpus} Corpus */
/** @typedef {import("./types.js").DataFacts} DataFacts */

const DELAY_MS = 300;
const MOST_LINES = 50;

/** @param {string | null} sha256 */
function chooseCorpus(sha256) {
  clearProblem(byId("finetune-problem"));
  if (model.tune.corpus === sha256) return;
  Object.assign(model.tune, {
    corpus: sha256, facts: null, estimate: null, skipBad: false, rows: PREVIEW_ROWS });
  changed();
}

/**
 * Gives data to the worker, and chooses it.
 * @param {Client} client
 * @param {string} name
 * @param {Uint8Array} data moved to the worker
 */
async function addData(client, name, data) {
  const home = byId("finetune-data-problem");
  clearProblem(home);
  try {
    const { corpus } = await client.command("add_corpus", { title: name, text: data });
    chooseCorpus(corpus.sha256);
    return true;
  } catch (reason) {
    showProblem(reason, home);
    return false;
  }
}

/**
 * Reads a file and gives it to the worker.
 * @param {Client} client
 * @param {File} file
 */
export async function addDataFile(client, file) {
  const data = await bytesOf(file, byId("finetune-data-problem"));
  if (data) await addData(client, file.name, data);
}

/** @param {Corpus} corpus */
function card(corpus) {
  const id = `finetune-corpus-${corpus.sha256.slice(0, 12)}`;
  const radio = make("input", {
    type: "radio", name: "finetune-corpus", id, value: corpus.sha256,
    onchange: () => chooseCorpus(corpus.sha256),
  });
  radio.checked = model.tune.corpus === corpus.sha256;
  return make("label", { class: "option", for: id }, [
    radio, make("span", { text: corpus.name }),
    make("span", { class: "amount", text: bytes(corpus.bytes) }),
  ]);
}

function drawCorpora() {
  const { corpora } = model;
  // One's own first: what came with the page is seldom what a model lacks.
  const ordered = [...corpora].sort((a, b) => Number(a.builtin) - Number(b.builtin));
  fillKeepingFocus(byId("finetune-corpus-list"), corpora.length ? ordered.map(card)
    : [make("p", { class: "note", text: text.corpus.waiting })]);
}

/** @param {DataFacts} found */
function factRows(found) {
  const words = text.finetune.data;
  const share = (100 * found.trained_tokens) / Math.max(1, found.tokens);
  /** @type {[string, string][]} */
  const rows = [
    [words.kind, words.kinds[found.kind] ?? found.kind],
    [words.documents, number(found.documents)],
    [words.tokens, number(found.tokens)],
    [words.trained, words.part(number(found.trained_tokens), number(share))],
    [words.rows, number(found.rows)],
    [words.heldOut, number(found.held_out_documents)],
    [words.epoch, number(found.steps_of_an_epoch)],
  ];
  if (found.truncated_documents > 0) {
    rows.push([words.cut, words.cutValue(number(found.truncated_documents),
      number(found.truncated_tokens))]);
  }
  return facts(rows);
}

/** @param {DataFacts} found */
function drawBadLines(found) {
  const words = text.finetune.data;
  const count = number(found.bad_count);
  byId("finetune-bad").hidden = found.bad_count === 0;
  setText(byId("finetune-bad-words"), words.bad(count));
  const shown = found.bad_lines.slice(0, MOST_LINES);
  const rest = found.bad_count - shown.length;
  fill(byId("finetune-bad-list"), [
    ...shown.map(({ line, reason }) =>
      make("li", { text: words.line(number(line), reason) })),
    ...(rest > 0 ? [make("li", { text: words.more(number(rest)) })] : []),
  ]);
  setText(byId("finetune-skip-words"), words.skip(count));
}

function drawFound() {
  const { facts: found, reading, corpus, skipBad } = model.tune;
  byId("finetune-found").hidden = corpus === null || (!found && !reading);
  byId("finetune-found").setAttribute("aria-busy", String(reading));
  setText(byId("finetune-reading"), reading ? text.finetune.data.reading : "");
  /** @type {HTMLInputElement} */ (byId("finetune-skip_bad_lines")).checked = skipBad;
  fill(byId("finetune-data-facts"), found ? factRows(found) : []);
  if (found) drawBadLines(found);
  else byId("finetune-bad").hidden = true;
}

/** What the facts depend on; empty while something is missing. */
function question() {
  const { base, corpus, settings, usual, skipBad, rows } = model.tune;
  if (model.phase !== "ready" || model.place !== "finetune" || !base || !corpus || !settings
    || !usual) return "";
  return JSON.stringify([base, corpus, skipBad, rows, settings.context_length, settings.packing,
    settings.held_out, settings.per_device_train_batch_size,
    settings.gradient_accumulation_steps, settings.seed]);
}

/** The newest question: an answer to an older one is not shown. */
let asked = "";
let timer = 0;

/** @param {Client} client @param {string} mine */
async function readData(client, mine) {
  const { tune } = model;
  const home = byId("finetune-data-problem");
  asked = mine;
  clearProblem(home);
  tune.reading = true;
  changed();
  try {
    const { base, corpus, settings, skipBad, rows } = tune;
    const { facts: found } = await client.command("read_data",
      { model: base, corpus, settings, skip_bad_lines: skipBad, preview_rows: rows });
    if (mine === asked) tune.facts = found;
  } catch (reason) {
    if (mine !== asked) return;
    tune.facts = null;
    if (model.phase === "ready") showProblem(reason, home);
  } finally {
    if (mine === asked) tune.reading = false;
    changed();
  }
}

/** @param {Client} client */
export function setUpTuneData(client) {
  setUpPaste("finetune", (data) => addData(client, text.corpus.pasteName, data));
  setUpFile("finetune-file", (file) => addDataFile(client, file));
  const skip = /** @type {HTMLInputElement} */ (byId("finetune-skip_bad_lines"));
  skip.addEventListener("change", () => {
    model.tune.skipBad = skip.checked;
    clearProblem(byId("finetune-problem"));
    changed();
  });
  watch((m) => [m.corpora, m.tune.corpus], drawCorpora);
  watch((m) => [m.tune.facts, m.tune.reading, m.tune.corpus, m.tune.skipBad], drawFound);
  watch(() => [question()], () => {
    clearTimeout(timer);
    const mine = question();
    if (!mine || (mine === asked && model.tune.facts)) return;
    timer = setTimeout(() => void readData(client, mine), DELAY_MS);
  });
}
