/** The numbers of the run in the picture, and what they mean in words. */

import { byId, facts, fill, setText } from "./dom.js";
import { choices, duration, loss, milliseconds, number } from "./format.js";
import { watch } from "./model.js";
import { text } from "./strings.js";

const ANNOUNCE_MS = 10_000;

/** @typedef {import("./model.js").Live} Live */
/** @typedef {import("./picture.js").Picture} Picture */

/** The last training loss, or the one that the run was saved with. @param {Live} live */
export function latestLoss({ history, run }) {
  return history.train.at(-1)?.loss ?? run?.loss ?? null;
}

/**
 * The numbers of a run, with their names.
 * @param {Live} live
 * @returns {[string, string][]}
 */
function factRows(live) {
  const { pace, history } = live;
  const validation = history.validation[history.validation.length - 1]?.loss
    ?? live.run?.validation_loss;
  /** @type {[string, string][]} */
  const pairs = [
    [text.facts.step, text.facts.of(number(live.step), number(live.maxSteps))],
    [text.facts.train, loss(latestLoss(live))],
    [text.facts.validation, loss(validation)],
  ];
  const bits = history.validation.at(-1)?.bits_per_byte;
  if (bits) pairs.push([text.facts.bits, number(bits, 3)]);
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

/**
 * What the two losses say together.
 * @param {Live} live
 * @returns {{words: string, parted: boolean}}
 */
function verdict({ history }) {
  const found = history.verdict();
  if (!found || history.validation.length < 2) return { words: "", parted: false };
  const { best, last, parted } = found;
  return { parted, words: parted
    ? text.facts.parted(number(best.step), loss(best.loss), loss(last.loss))
    : text.facts.best(number(best.step), loss(best.loss)) };
}

/**
 * What a run is at, in a word. @param {Live} live
 */
function stateWords({ state, step, maxSteps }) {
  const finished = state === "idle" && maxSteps > 0 && step >= maxSteps;
  return finished ? text.facts.finished : (text.facts.states[state] ?? state);
}

/** @param {Picture} picture @param {() => [string, string][]} more */
function draw({ prefix, live: of, names }, more) {
  const live = of();
  const none = live.run === null && live.history.train.length === 0;
  byId(`${prefix}facts-block`).hidden = none;
  if (none) return;
  const state = stateWords(live);
  setText(byId(`${prefix}facts-heading`), live.run ? `${live.run.run} \u00b7 ${state}` : state);
  byId(`${prefix}run-progress`)
    .setAttribute("value", String(live.step / Math.max(1, live.maxSteps)));
  fill(byId(`${prefix}facts`), facts([...factRows(live), ...more()]));
  const value = latestLoss(live);
  setText(byId(`${prefix}loss-words`), value === null
    ? "" : text.facts.words(loss(value), choices(value), names().many));
  const { words, parted } = verdict(live);
  const home = byId(`${prefix}verdict`);
  setText(home, words);
  home.classList.toggle("parted", parted);
}

/**
 * Sets up the numbers of a picture, and a spoken summary now and then.
 * @param {Picture} picture
 * @param {() => [string, string][]} [more] rows that only this picture has
 */
export function setUpFacts(picture, more = () => []) {
  let spoken = 0;
  const { live: of } = picture;
  watch(() => [of(), of().version, of().state, of().step, of().run, of().checkpoint], () => {
    draw(picture, more);
    const now = performance.now();
    const live = of();
    if (live.state !== "running" || now - spoken < ANNOUNCE_MS) return;
    spoken = now;
    setText(byId("live"),
      text.facts.live(number(live.step), number(live.maxSteps), loss(latestLoss(live))));
  });
}
