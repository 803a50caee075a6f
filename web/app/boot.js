/** Starting the worker: named stages, one total bar, and starting again after a failure. */

import { byId, fill, make, setText } from "./dom.js";
import { bytes, number } from "./format.js";
import { activeLive, changed, isBusy, model, watch } from "./model.js";
import { addProblemNotice, dropNotice } from "./notices.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./types.js").Stage} Stage */
/** @typedef {import("./client.js").Client} Client */

/** @typedef {import("./types.js").BootReply} BootReply */

/** @type {(reply: BootReply) => void} */
let announceReady;
/** Settles with the boot reply, whatever attempt it takes. */
export const ready = new Promise((resolve) => {
  announceReady = resolve;
});

/**
 * @typedef {{promise: Promise<BootReply>, resolve: (reply: BootReply) => void,
 *   reject: (reason: unknown) => void}} Attempt
 */

let attempt = newAttempt();

/** @returns {Attempt} */
function newAttempt() {
  /** @type {any} */
  const fresh = {};
  fresh.promise = new Promise((resolve, reject) => Object.assign(fresh, { resolve, reject }));
  // The page shows a failed start by itself; only a program that asks sees the rejection.
  fresh.promise.catch(() => {});
  return fresh;
}

/** The boot reply of the present attempt; rejects when the attempt has failed. */
export function whenReady() {
  return attempt.promise;
}

/** @param {Stage} stage */
export function stageName(stage) {
  return text.boot.stages[stage.stage] ?? stage.stage;
}

/**
 * How far a stage is: 3.1 MB of 12 MB, 31 of 40.
 * @param {Stage} stage
 */
export function stageAmount(stage) {
  const write = stage.unit === "bytes" ? bytes : number;
  if (stage.total <= 0) return stage.done > 0 ? write(stage.done) : "";
  if (stage.total === 1) return "";
  return `${write(stage.done)} of ${write(stage.total)}`;
}

/**
 * The part of a first visit's time that each stage of the start takes, roughly, so that the total
 * is a fair picture from the first byte.
 * @type {Record<string, number>}
 */
const PORTIONS = { python: 0.5, packages: 0.2, tabgrad: 0.05, gpu: 0.05, "self-test": 0.2 };

/** How much of the start is done, 0 to 1. */
function total() {
  return model.stages.reduce((sum, { stage, done, total: all }) =>
    sum + (PORTIONS[stage] ?? 0) * (all > 0 ? Math.min(1, done / all) : 0), 0);
}

let furthest = 0;

function draw() {
  const booting = model.phase === "booting";
  byId("boot").hidden = !booting;
  if (!booting) return;
  furthest = Math.max(furthest, total());
  byId("boot-total").setAttribute("value", String(furthest));
  const rows = model.stages.map((stage) => {
    const whole = stage.total > 0 && stage.done >= stage.total;
    return make("li", { class: whole ? "done" : "" }, [
      make("span", { text: stageName(stage) }),
      make("span", { class: "amount", text: stageAmount(stage) }),
    ]);
  });
  fill(byId("boot-stages"), rows);
}

/**
 * Boots the worker that the client has started.
 * @param {Client} client
 * @param {{device: string, base: string}} options
 */
async function boot(client, options) {
  furthest = 0;
  Object.assign(model, { phase: "booting", stages: [], pending: null });
  changed();
  try {
    const reply = await client.command("boot", options);
    announceReady(reply);
    attempt.resolve(reply);
    clearProblem(byId("boot-problem"));
    return true;
  } catch (reason) {
    attempt.reject(reason);
    if (model.phase === "crashed") return false;
    Object.assign(model, { phase: "failed", wanted: false });
    changed();
    const again = make("button", {
      type: "button", text: text.boot.again, onclick: () => restart(client, options),
    });
    showProblem(reason, byId("boot-problem"), [again]);
    return false;
  }
}

/**
 * A fresh worker, and the run in the picture from its last checkpoint.
 * @param {Client} client
 * @param {{device: string, base: string}} options
 */
async function restart(client, options) {
  const live = activeLive();
  const run = live.name;
  const train = isBusy();
  dropNotice("crashed");
  clearProblem(byId("boot-problem"));
  live.state = "idle";
  attempt = newAttempt();
  client.start();
  const booted = await boot(client, options);
  if (!booted || !run || !model.runs.some((known) => known.run === run)) return;
  try {
    await client.command("restore", { run, train });
  } catch (reason) {
    showProblem(reason, byId(live === model.tune.live ? "finetune-problem" : "train-problem"));
  }
}

/**
 * @param {Client} client
 * @param {{device: string, base: string}} options fields of the `boot` command
 */
export function setUpBoot(client, options) {
  watch((m) => [m.phase, m.stages], draw);
  client.onCrash((problem) => {
    Object.assign(model, { phase: "crashed", pending: null, wanted: false });
    model.tune.pending = null;
    changed();
    const words = activeLive().run ? text.problems.restart : text.problems.restartEmpty;
    const button = make("button", {
      type: "button", id: "restart", text: words, onclick: () => restart(client, options),
    });
    addProblemNotice(problem, [button]);
  });
  client.start();
  return boot(client, options);
}

/** How far the start is, for places that wait for it; nothing once it is done. */
export function startWords() {
  const { phase, stages } = model;
  if (phase === "ready") return "";
  if (phase !== "booting") return text.boot.failed;
  const stage = stages[stages.length - 1];
  return stage ? `${text.boot.heading}: ${stageName(stage)} ${stageAmount(stage)}`
    : text.boot.heading;
}

/** The lines under the buttons while something long is on: kernels compiling, a self-test. */
export function setUpStageLine() {
  watch((m) => [m.phase, m.stages, m.live.state, m.tune.live.state, m.tune.pending], () => {
    const stage = model.phase === "ready" ? model.stages[model.stages.length - 1] : undefined;
    const words = stage ? `${stageName(stage)} ${stageAmount(stage)}` : "";
    const tunes = model.tune.pending !== null || activeLive() === model.tune.live;
    setText(byId("stage"), tunes ? "" : words);
    setText(byId("finetune-stage"), tunes ? words : startWords());
  });
}
