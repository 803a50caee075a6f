/** The Fine-tune place: which model is taught, the one filled button, Step and Stop. */

import { PENDING, perform, stopRun } from "./actions.js";
import { startWords } from "./boot.js";
import { byId, fill, make, setText } from "./dom.js";
import { setUpTuneAnswers } from "./finetune_answers.js";
import { setUpTuneData } from "./finetune_data.js";
import { setUpTuneEstimate } from "./finetune_estimate.js";
import { checkTuneSettings, setUpTuneForm, useSettings } from "./finetune_form.js";
import { setUpTakeHome } from "./finetune_home.js";
import { setUpTunePreview } from "./finetune_preview.js";
import { carryOver } from "./finetune_settings.js";
import { bytes, number } from "./format.js";
import { modelNamed, usable } from "./library.js";
import { changed, homeOf, isActive, model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */

/** Runs of ours that can be taught more. */
function ownRuns() {
  return model.runs.filter((run) => homeOf(run) === model && run.step > 0);
}

/** Whether a name is still that of a model or of a run that is here. @param {string} name */
function isHere(name) {
  return usable().some((one) => one.model === name) || ownRuns().some((run) => run.run === name);
}

/** Chooses a model while none is chosen, or when the chosen one has gone. */
function choose() {
  const { tune, library } = model;
  if (!library.known || isHere(tune.base)) return;
  const loaded = library.loaded?.model.model ?? "";
  tune.base = isHere(loaded) ? loaded : usable()[0]?.model ?? ownRuns()[0]?.run ?? "";
  changed();
}

function drawBases() {
  choose();
  const words = text.finetune.base;
  const select = /** @type {HTMLSelectElement} */ (byId("finetune-base"));
  const group = (/** @type {string} */ label, /** @type {HTMLOptionElement[]} */ options) =>
    (options.length ? [make("optgroup", { label }, options)] : []);
  fill(select, [
    ...group(words.models, usable().map((one) => make("option", {
      value: one.model, text: words.option(one.title, bytes(one.bytes)) }))),
    ...group(words.runs, ownRuns().map((run) => make("option", {
      value: run.run, text: words.option(run.run, run.preset) }))),
  ]);
  select.value = model.tune.base;
  select.disabled = select.options.length === 0;
}

let looking = false;

function drawBaseState() {
  const { tune, library, phase } = model;
  const words = text.finetune.base;
  const chosen = modelNamed(tune.base);
  const own = model.runs.find((run) => run.run === tune.base);
  const say = () => {
    if (phase !== "ready" || !library.known) return startWords() || words.waiting;
    if (!tune.base) return words.none;
    if (looking) return words.looking;
    if (!tune.usual) return "";
    const facts = words.facts(chosen ? (chosen.chat ? words.chats : words.goesOn)
      : own ? words.goesOn : "", number(tune.longest));
    return facts;
  };
  setText(byId("finetune-base-state"), say());
}

/** The newest question about a model: an answer about an older one is not shown. */
let asked = 0;

/**
 * Asks what is usual for the chosen model.
 * @param {Client} client
 */
async function lookAtBase(client) {
  const { tune } = model;
  const home = byId("finetune-base-state");
  const mine = (asked += 1);
  clearProblem(home);
  looking = true;
  drawBaseState();
  try {
    const found = await client.command("finetune_defaults", { model: tune.base });
    if (mine !== asked) return;
    const settings = carryOver(tune.settings, tune.usual, found.settings, found.context_length);
    Object.assign(tune, {
      usual: found.settings, targets: found.targets, longest: found.context_length });
    useSettings(settings);
  } catch (reason) {
    if (mine !== asked) return;
    Object.assign(tune, { settings: null, usual: null, targets: [], facts: null, estimate: null });
    if (model.phase === "ready") showProblem(reason, home);
  } finally {
    if (mine === asked) looking = false;
    changed();
  }
}

/** @param {Client} client */
function setUpBase(client) {
  const select = /** @type {HTMLSelectElement} */ (byId("finetune-base"));
  select.addEventListener("change", () => {
    model.tune.base = select.value;
    changed();
  });
  watch((m) => [m.library.models, m.library.known, m.library.loaded, m.runs, m.tune.base],
    drawBases);
  let known = "";
  watch((m) => [m.place === "finetune", m.phase, m.tune.base], () => {
    const { place, phase, tune } = model;
    if (phase !== "ready") known = "";
    if (place !== "finetune" || phase !== "ready" || !tune.base || known === tune.base) return;
    known = tune.base;
    void lookAtBase(client);
  });
  watch((m) => [m.library.known, m.library.models, m.phase, m.stages, m.tune.base, m.tune.usual],
    drawBaseState);
}

/** What the filled button does now; null while it can do nothing. */
function intent() {
  const { live } = model.tune;
  if (model.phase !== "ready" || isActive(model.live)) return null;
  if (live.state === "running") return "pause";
  if (live.state === "paused") return "resume";
  return live.state === "stopping" || !model.tune.settings ? null : "finetune";
}

/** Whether everything is there to begin; else the control that lacks something says so. */
function canBegin() {
  const { corpus, facts, skipBad } = model.tune;
  const home = byId("finetune-problem");
  const words = text.finetune.data;
  clearProblem(home);
  if (!corpus) {
    showProblem({ code: "data", message: words.nothing, control: "corpus" }, home);
    return false;
  }
  if (facts && facts.bad_count > 0 && !skipBad) {
    showProblem({ code: "data", message: words.bad(number(facts.bad_count)), remedy: words.mend,
      control: "skip_bad_lines" }, home);
    return false;
  }
  return checkTuneSettings();
}

/** @param {Client} client */
async function begin(client) {
  const { tune } = model;
  if (!canBegin()) return;
  const { base, corpus, settings, skipBad } = tune;
  const size = tune.estimate?.total_bytes ?? 0;
  const started = await perform(client, "finetune",
    { model: base, corpus, settings, skip_bad_lines: skipBad, run: null }, tune);
  if (!started) return;
  tune.compare = null;
  tune.live.memory = size;
  changed();
}

/** @param {Client} client */
async function press(client) {
  const what = intent();
  if (what === "finetune") {
    // Asked from a click, where browsers that prompt for it expect it.
    void navigator.storage?.persist?.();
    await begin(client);
  } else if (what) {
    await perform(client, what, {}, model.tune);
  }
}

function label() {
  const { pending } = model.tune;
  if (pending === "finetune") return text.actions.starting;
  if (pending && pending !== "step" && pending !== "stop") {
    return PENDING[pending] ?? text.finetune.actions.start;
  }
  const what = intent();
  if (what === "pause") return text.actions.pause;
  return what === "resume" ? text.actions.resume : text.finetune.actions.start;
}

function drawActions() {
  const { pending, live } = model.tune;
  const start = /** @type {HTMLButtonElement} */ (byId("finetune-start"));
  const step = /** @type {HTMLButtonElement} */ (byId("finetune-step"));
  const stop = /** @type {HTMLButtonElement} */ (byId("finetune-stop"));
  setText(start, label());
  start.disabled = intent() === null;
  start.setAttribute("aria-busy", String(pending !== null));
  const active = isActive(live) && model.phase === "ready";
  step.hidden = !active;
  stop.hidden = !active && pending !== "finetune" && pending !== "restore";
  step.disabled = live.state !== "paused";
  step.title = step.disabled ? text.actions.stepHint : "";
  stop.disabled = pending === "stop" || live.state === "stopping";
  setText(step, pending === "step" ? text.actions.stepping : text.actions.step);
  setText(stop, stop.disabled ? text.actions.stopping : text.actions.stop);
  const elsewhere = isActive(model.live) ? text.finetune.trainsElsewhere(model.live.name) : "";
  const waits = model.phase === "ready" && !model.tune.settings
    ? text.finetune.actions.waiting : "";
  setText(byId("finetune-elsewhere"), elsewhere || waits);
}

/** @param {Client} client */
function setUpTuneActions(client) {
  const { tune } = model;
  byId("finetune-start").addEventListener("click", () => {
    if (tune.pending === null) void press(client);
  });
  byId("finetune-step").addEventListener("click", () => {
    if (tune.pending === null) void perform(client, "step", {}, tune);
  });
  byId("finetune-stop").addEventListener("click", () => void stopRun(client, tune));
  watch((m) => [m.phase, m.tune.pending, m.tune.live.state, m.live.state, m.tune.settings],
    drawActions);
}

function setUpIntro() {
  setText(byId("finetune-intro-words"), text.finetune.intro.body);
  watch((m) => [m.tune.live.run, m.tune.facts, m.tune.live.version], () => {
    const { live, facts } = model.tune;
    byId("finetune-intro").hidden = live.run !== null || facts !== null
      || live.history.train.length > 0;
  });
}

/** @param {Client} client */
export function setUpFineTune(client) {
  setUpTuneForm();
  setUpBase(client);
  setUpTuneData(client);
  setUpTunePreview();
  setUpTuneEstimate(client);
  setUpTuneAnswers();
  setUpTuneActions(client);
  setUpTakeHome(client);
  setUpIntro();
}
