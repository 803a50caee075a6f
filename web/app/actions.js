/** Train, Pause, Resume, Step, Stop. What was pressed is shown at once. */

import { byId, setText } from "./dom.js";
import { changed, homeOf, isActive, model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { checkSettings } from "./settings_form.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */

/** @type {Record<string, string>} */
export const PENDING = {
  train: text.actions.starting, pause: text.actions.pausing, resume: text.actions.resuming,
  step: text.actions.stepping, stop: text.actions.stopping, restore: text.actions.resuming,
};

/** What the filled button does now; null while it can do nothing. */
function intent() {
  if (model.phase !== "ready") return model.wanted ? "unqueue" : "queue";
  if (isActive(model.tune.live)) return null;
  if (model.live.state === "running") return "pause";
  if (model.live.state === "paused") return "resume";
  return model.live.state === "stopping" ? null : "train";
}

/**
 * Gives a command of the training group, shows it as pending, and its problem if it fails.
 * @param {Client} client
 * @param {string} name
 * @param {Record<string, unknown>} [fields]
 * @param {ReturnType<typeof homeOf>} [place] of Train, or of Fine-tune
 */
export async function perform(client, name, fields = {}, place = model) {
  const home = byId(place === model ? "train-problem" : "finetune-problem");
  clearProblem(home);
  place.pending = name;
  changed();
  try {
    return await client.command(name, fields);
  } catch (reason) {
    if (model.phase !== "crashed") showProblem(reason, home);
    return null;
  } finally {
    place.pending = null;
    changed();
  }
}

/** @param {Client} client */
async function train(client) {
  if (!checkSettings()) return;
  await perform(client, "train", { settings: model.settings, corpus: model.corpus, run: null });
}

/**
 * Starts what was asked for while the page was getting ready.
 * @param {Client} client
 */
export async function startWanted(client) {
  if (!model.wanted) return;
  model.wanted = false;
  await train(client);
}

/** @param {Client} client */
async function press(client) {
  const what = intent();
  if (what === "queue" || what === "unqueue") {
    model.wanted = what === "queue";
    changed();
  }
  if (what === "queue" || what === "train") {
    // Asked from a click, where browsers that prompt for it expect it.
    void navigator.storage?.persist?.();
  }
  if (what === "train") await train(client);
  if (what === "pause" || what === "resume") await perform(client, what);
}

function label() {
  if (model.wanted) return text.actions.queued;
  if (model.pending && model.pending !== "step" && model.pending !== "stop") {
    return PENDING[model.pending];
  }
  const what = intent();
  if (what === "pause") return text.actions.pause;
  return what === "resume" ? text.actions.resume : text.actions.train;
}

function draw() {
  const button = /** @type {HTMLButtonElement} */ (byId("train"));
  const step = /** @type {HTMLButtonElement} */ (byId("step"));
  const stop = /** @type {HTMLButtonElement} */ (byId("stop"));
  const { pending } = model;
  setText(button, label());
  button.disabled = ["failed", "crashed"].includes(model.phase) || intent() === null;
  button.setAttribute("aria-busy", String(pending !== null || model.wanted));
  const active = isActive() && model.phase === "ready";
  step.hidden = !active;
  stop.hidden = !active && pending !== "train" && pending !== "restore";
  // Not while a step is taken: a button that is switched off loses the keyboard's focus.
  step.disabled = model.live.state !== "paused";
  step.title = step.disabled ? text.actions.stepHint : "";
  stop.disabled = pending === "stop" || model.live.state === "stopping";
  setText(step, pending === "step" ? text.actions.stepping : text.actions.step);
  setText(stop, stop.disabled ? text.actions.stopping : text.actions.stop);
  const { live } = model.tune;
  setText(byId("train-elsewhere"), isActive(live) ? text.finetune.elsewhere(live.name) : "");
}

/**
 * Ends the run of a place; it can be gone on with.
 * @param {Client} client
 * @param {ReturnType<typeof homeOf>} place
 */
export async function stopRun(client, place) {
  const stopped = await perform(client, "stop", {}, place);
  if (!stopped) return;
  await perform(client, "runs", {}, place);
  const run = model.runs.find((known) => known.run === place.live.name);
  if (run && !run.complete) place.comeBack = run;
  changed();
}

/** @param {Client} client */
export function setUpActions(client) {
  byId("train").addEventListener("click", () => {
    if (model.pending === null) void press(client);
  });
  byId("step").addEventListener("click", () => {
    if (model.pending === null) void perform(client, "step");
  });
  byId("stop").addEventListener("click", () => void stopRun(client, model));
  watch((m) => [m.phase, m.wanted, m.pending, m.live.state, m.tune.live.state], draw);
}
