/** What a fine-tune would cost, whether it fits, and what would, asked before it starts. */

import { byId, facts, fill, setText } from "./dom.js";
import { useSettings } from "./finetune_form.js";
import { bytes, duration, milliseconds, number } from "./format.js";
import { recall, remember } from "./memory.js";
import { changed, model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").FineTuneEstimate} FineTuneEstimate */

const DELAY_MS = 500;
const GIGABYTE = 1e9;
const LIMIT = "tabgrad.finetune.limit";

/** @param {FineTuneEstimate} estimate */
function drawParts(estimate) {
  const { about, unknown, aStep, timeUnknown } = text.estimate;
  const words = text.finetune.estimate;
  const timed = estimate.step_ms > 0;
  setText(byId("finetune-estimate-summary"), (timed
    ? [aStep(milliseconds(estimate.step_ms)), about(duration(estimate.total_seconds))]
    : [timeUnknown]).join(" \u00b7 "));
  fill(byId("finetune-estimate-facts"), facts([
    [text.estimate.step, timed ? about(milliseconds(estimate.step_ms)) : unknown],
    [text.estimate.total, timed ? about(duration(estimate.total_seconds)) : unknown],
    [text.estimate.perStep, number(estimate.tokens_per_step)],
    [words.trained,
      words.trainedOf(number(estimate.trained_parameters), number(estimate.parameters))],
  ]));
  fill(byId("finetune-estimate-memory"), facts(Object.entries(estimate.memory).map(
    ([name, size]) => [text.estimate.memoryNames[name] ?? name.replaceAll("_", " "),
      bytes(size)])));
}

function draw() {
  const { estimate } = model.tune;
  const words = text.finetune.estimate;
  const fits = byId("finetune-fits");
  byId("finetune-estimate-parts").hidden = estimate === null;
  byId("finetune-suggestion").hidden = estimate === null || estimate.fits;
  fits.classList.toggle("grave", estimate !== null && !estimate.fits);
  if (!estimate) {
    setText(fits, asking ? words.asking : "");
    return;
  }
  const size = bytes(estimate.total_bytes);
  setText(fits, estimate.fits ? words.fits(size) : words.fitsNot(size));
  setText(byId("finetune-suggestion-words"), estimate.suggestion
    ? words.suggestion(estimate.suggestion_reason ?? "")
    : (estimate.suggestion_reason || words.noSuggestion));
  byId("finetune-suggestion-use").hidden = !estimate.suggestion;
  drawParts(estimate);
}

/** What the estimate depends on; empty while something is missing. */
function question() {
  const { base, corpus, settings, usual, facts: found, skipBad } = model.tune;
  const usable = found !== null && (found.bad_count === 0 || skipBad);
  if (model.phase !== "ready" || model.place !== "finetune" || !base || !corpus || !settings
    || !usual || !usable) return "";
  const { prompts: _, ...counted } = settings;
  return JSON.stringify([base, corpus, counted, model.tune.limit]);
}

/** The newest question: an answer to an older one is not shown. */
let asked = "";
let asking = false;
let timer = 0;

/** @param {Client} client @param {string} mine */
async function ask(client, mine) {
  const { tune } = model;
  const home = byId("finetune-estimate");
  asked = mine;
  clearProblem(home);
  asking = true;
  draw();
  try {
    const { base, corpus, settings } = tune;
    const estimate = await client.command("estimate_finetune",
      { model: base, corpus, settings, limit_bytes: tune.limit });
    if (mine === asked) tune.estimate = estimate;
  } catch (reason) {
    if (mine !== asked) return;
    tune.estimate = null;
    if (model.phase === "ready") showProblem(reason, home);
  } finally {
    if (mine === asked) asking = false;
    draw();
    changed();
  }
}

/** WebGPU does not say how much memory there is: who knows may say it, and it is remembered. */
function setUpLimit() {
  const input = /** @type {HTMLInputElement} */ (byId("finetune-limit"));
  const take = () => {
    const gigabytes = Number(input.value);
    model.tune.limit = input.value.trim() !== "" && gigabytes > 0
      ? Math.round(gigabytes * GIGABYTE) : null;
    changed();
  };
  input.value = recall(LIMIT) ?? "";
  take();
  input.addEventListener("input", () => {
    take();
    remember(LIMIT, input.value);
  });
}

/** @param {Client} client */
export function setUpTuneEstimate(client) {
  setUpLimit();
  byId("finetune-suggestion-use").addEventListener("click", () => {
    const { estimate, settings } = model.tune;
    if (!estimate?.suggestion) return;
    useSettings({ ...estimate.suggestion, prompts: settings?.prompts ?? [] });
    byId("finetune-start").focus();
  });
  watch((m) => [m.tune.estimate], draw);
  watch(() => [question()], () => {
    clearTimeout(timer);
    const mine = question();
    if (!mine || (mine === asked && model.tune.estimate)) return;
    timer = setTimeout(() => void ask(client, mine), DELAY_MS);
  });
}
