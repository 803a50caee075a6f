/** What the evaluation panel knows: what is chosen, what is under way, what was measured. */

import { Failure } from "./client.js";
import { number } from "./format.js";
import { modelNamed } from "./library.js";
import { changed, model } from "./model.js";
import { text } from "./strings.js";

/**
 * The shapes of an evaluation's `result`, as tabgrad/evaluate has them; a number that is not
 * finite comes as null.
 * @typedef {number | null} Measured
 * @typedef {{loss: Measured, perplexity: Measured, bits_per_byte: Measured, tokens: number,
 *   bytes: number, unscored_bytes: number, context_length: number, overlap: number,
 *   windows: number}} TextScore
 * @typedef {{line: number, context: string, choices: string[], answer: number, cloze: boolean,
 *   weight: number, logprobs: Measured[], tokens: number[], bytes: number[], chosen: Measured,
 *   chosen_per_byte: Measured, correct: boolean, correct_per_byte: boolean}} ItemScore
 * @typedef {{items: number, accuracy: Measured, accuracy_per_byte: Measured,
 *   standard_error: Measured, chance: number, loss_per_byte: Measured}} Accuracy
 * @typedef {{name: string, sha256: string, bad_lines: number, choice: Accuracy | null,
 *   cloze: Accuracy | null, accuracy: Measured, seconds: Measured, goodput: Measured,
 *   items: ItemScore[]}} TaskScore
 * @typedef {{seconds: Measured, goodput: Measured, tokens_per_second: Measured,
 *   first_token_ms: Measured, kilobytes_per_second: Measured, tokens: number, bytes: number}} Speed
 * @typedef {{line: number, text: string, exact: boolean, logprob: Measured, greedy: boolean,
 *   bytes: number, weight: number, shown: number, passages: number[]}} Answered
 * @typedef {{name: string, exact: Measured, loss_per_byte: Measured, speed: Speed,
 *   answers: Answered[]}} Condition
 * @typedef {{name: string, sha256: string, shots: number, max_new_tokens: number,
 *   prompts: {line: number, context: string, expected: string}[],
 *   conditions: Condition[]}} Conditions
 * @typedef {{offset: number, line: number, prefix: string, text: string, verbatim: number,
 *   verbatim_tokens: number, found: number, found_offset: Measured, found_line: Measured,
 *   found_text: string}} Continuation
 * @typedef {{characters: number, prefix_characters: number, max_new_tokens: number, seed: number,
 *   longest: number, longest_tokens: number, longest_found: number, mean: Measured,
 *   copied: Measured, continuations: Continuation[]}} Memorised
 * @typedef {{evaluation: string, title: string, model: string, adapter?: string | null,
 *   created_at: number, kind: string, result: {subject: {name: string, sha256: string},
 *   device: string, score: any, speed: Speed | null}}} Evaluation
 * @typedef {{first: string, second: string, notes: string[],
 *   rows: {name: string, unit: string, first: Measured, second: Measured, difference: Measured,
 *     better: string}[],
 *   flips: {line: number, context: string, expected: string, condition: string,
 *     first: boolean, second: boolean}[]}} Comparison
 * @typedef {{name: string, sha256: string, items: number, clozes: number,
 *   bad_lines: import("./types.js").BadLine[], bad_count: number}} TaskFacts
 */

export const KINDS = ["text", "tasks", "conditions", "memorisation"];
export const BUILT_IN = ["everyday", "endings"];

/**
 * `picked` says that a person chose the text; `progress` is the newest word of the worker;
 * `shown` or `compared` is in the picture; `version` changes with what only the lists know.
 * @type {{model: string, adapter: string, kind: string, corpus: string, picked: boolean,
 *   tasks: string, typed: Record<string, string>, facts: TaskFacts | null, reading: boolean,
 *   busy: boolean, stopping: boolean,
 *   progress: {stage: string, amount: string, share: number | null, left: number | null} | null,
 *   kept: Evaluation[], known: boolean, shown: Evaluation | null,
 *   compared: {table: Comparison, markdown: string} | null, version: number}}
 */
export const judge = {
  model: "", adapter: "", kind: "text", corpus: "", picked: false, tasks: BUILT_IN[0],
  typed: {}, facts: null, reading: false, busy: false, stopping: false, progress: null,
  kept: [], known: false, shown: null, compared: null, version: 0,
};

/** Says that the panel's own state changed. */
export function redraw() {
  judge.version += 1;
  changed();
}

/**
 * A problem whose control is the panel's own, not the one of that name above it.
 * @param {unknown} reason
 * @param {string} [mends] the control, where the command cannot know it
 */
export function here(reason, mends) {
  if (!(reason instanceof Failure)) return reason;
  const named = reason.problem.control === "evaluation-kind" ? "kinds" : reason.problem.control;
  const control = mends ?? (named ? `evaluate-${named}` : null);
  return { ...reason.problem, control };
}

/** Whether a measurement needs a task set, and whether it needs or may have a text. */
export function needs(kind = judge.kind) {
  const tasks = kind === "tasks" || kind === "conditions";
  return { tasks, text: kind !== "tasks", mayLackText: kind === "conditions" };
}

/** @param {string} name of a model or a run */
export function titleOf(name) {
  return modelNamed(name)?.title ?? name;
}

/** @param {string} name of an adapter */
export function adapterTitle(name) {
  return model.tune.adapters.find((one) => one.adapter === name)?.title ?? name;
}

/**
 * A measured number with four digits that count: 2.346, 1 234 567, 0.00123.
 * @param {Measured} value
 */
export function figure(value) {
  if (value === null) return text.evaluate.noNumber;
  if (Number.isInteger(value)) return number(value).replace("-", "\u2212");
  const size = Math.abs(value);
  const written = size < 0.001 ? value.toExponential(2)
    : number(value, Math.max(0, 3 - Math.floor(Math.log10(size))));
  return written.replaceAll("-", "\u2212");
}

/** @param {Measured} share 0 to 1 */
export function percent(share) {
  return share === null ? text.evaluate.noNumber
    : `${number(100 * share, Number.isInteger(100 * share) ? 0 : 1)}\u202f%`;
}

/**
 * The first and the other characters of a text, as Python counts them.
 * @param {string} words
 * @param {number} count
 */
export function cut(words, count) {
  const all = Array.from(words);
  return [all.slice(0, count).join(""), all.slice(count).join("")];
}
