/** The numbers of the run in the picture, and what they mean in words. */

import { byId, facts, fill, setText } from "./dom.js";
import { choices, duration, loss, milliseconds, number } from "./format.js";
import { model, watch } from "./model.js";
import { text } from "./strings.js";
import { vocabulary } from "./vocabulary.js";

const ANNOUNCE_MS = 10_000;

/** The last training loss, or the one that the run was saved with. */
export function latestLoss() {
  const { history, run } = model.live;
  return history.train.at(-1)?.loss ?? run?.loss ?? null;
}

/** @returns {[string, string][]} */
function rows() {
  const { live } = model;
  const { pace, history } = live;
  const validation = history.validation[history.validation.length - 1]?.loss
    ?? live.run?.validation_loss;
  /** @type {[string, string][]} */
  const pairs = [
    [text.facts.step, text.facts.of(number(live.step), number(live.maxSteps))],
    [text.facts.train, loss(latestLoss())],
    [text.facts.validation, loss(validation)],
  ];
  // The first report comes before a whole step was timed.
  if (pace && pace.step_ms > 0) {
    pairs.push([text.facts.tokens, number(pace.tokens_per_second)]);
    pairs.push([text.facts.stepTime, milliseconds(pace.step_ms)]);
    pairs.push([text.facts.python, `${number((100 * pace.python_ms) / pace.step_ms, 1)} %`]);
    if (live.state === "running") {
      pairs.push([text.facts.left, text.estimate.about(duration(pace.seconds_left))]);
    }
  }
  if (live.checkpoint !== null) {
    pairs.push([text.facts.saved, text.facts.savedAt(number(live.checkpoint))]);
  }
  return pairs;
}

function verdict() {
  const found = model.live.history.verdict();
  if (!found || model.live.history.validation.length < 2) return "";
  const { best, last, parted } = found;
  return parted
    ? text.facts.parted(number(best.step), loss(best.loss), loss(last.loss))
    : text.facts.best(number(best.step), loss(best.loss));
}

function draw() {
  const { live } = model;
  const none = live.run === null && live.history.train.length === 0;
  byId("facts-block").hidden = none;
  if (none) return;
  const finished = live.state === "idle" && live.maxSteps > 0 && live.step >= live.maxSteps;
  const state = finished ? text.facts.finished : (text.facts.states[live.state] ?? live.state);
  setText(byId("facts-heading"), live.run ? `${live.run.run} \u00b7 ${state}` : state);
  byId("run-progress").setAttribute("value", String(live.step / Math.max(1, live.maxSteps)));
  fill(byId("facts"), facts(rows()));
  const value = latestLoss();
  setText(byId("loss-words"), value === null
    ? "" : text.facts.words(loss(value), choices(value), vocabulary().many));
  const words = byId("verdict");
  setText(words, verdict());
  words.classList.toggle("parted", Boolean(live.history.verdict()?.parted));
}

/** Sets up the numbers, and a spoken summary now and then. */
export function setUpFacts() {
  let spoken = 0;
  watch((m) => [m.live, m.live.version, m.live.state, m.live.step, m.live.run, m.live.checkpoint],
    () => {
      draw();
      const now = performance.now();
      if (model.live.state !== "running" || now - spoken < ANNOUNCE_MS) return;
      spoken = now;
      const { step, maxSteps } = model.live;
      setText(byId("live"), text.facts.live(number(step), number(maxSteps), loss(latestLoss())));
    });
}
