/** The same questions under several conditions: a table, a plot of each measure, the answers. */

import { make } from "./dom.js";
import { bars, numbers, outcome, texts, words as said } from "./evaluate_plots.js";
import { figure, percent } from "./evaluate_state.js";
import { milliseconds, number } from "./format.js";
import { text } from "./strings.js";

/** @typedef {import("./evaluate_state.js").Conditions} Conditions */
/** @typedef {import("./evaluate_state.js").Condition} Condition */

/** @param {string} name */
const nameOf = (name) => text.evaluate.conditions.names[name] ?? name;

/** @param {string} name @param {string} unit */
const titled = (name, unit) => (unit ? `${name}, ${unit}` : name);

/** @param {number | null} value */
const time = (value) => (value === null ? figure(null) : milliseconds(value));

/**
 * The measures of a condition: name, unit, what it means, its value, and how it is written.
 * @returns {{name: string, unit: string, means: string, most?: number,
 *   value: (one: Condition) => number | null, write: (value: number | null) => string}[]}
 */
function measures() {
  const { conditions, taskScore, speed } = text.evaluate;
  return [
    { name: conditions.exact, unit: "", means: conditions.exactMeans, most: 1,
      value: (one) => one.exact, write: percent },
    { name: taskScore.loss, unit: taskScore.natsByte, means: taskScore.lossMeans,
      value: (one) => one.loss_per_byte, write: figure },
    { name: taskScore.goodput, unit: taskScore.goodputUnit, means: taskScore.goodputMeans,
      value: (one) => one.speed.goodput, write: figure },
    { name: speed.tokens, unit: speed.tokensUnit, means: speed.tokensMeans,
      value: (one) => one.speed.tokens_per_second, write: figure },
    { name: speed.first, unit: "", means: speed.firstMeans,
      value: (one) => one.speed.first_token_ms, write: time },
    { name: speed.bandwidth, unit: speed.bandwidthUnit, means: speed.bandwidthMeans,
      value: (one) => one.speed.kilobytes_per_second, write: figure },
  ];
}

/** @param {Condition[]} conditions */
function table(conditions) {
  const words = text.evaluate.conditions;
  const all = measures();
  return numbers(words.table,
    [words.name, ...all.map(({ name, unit }) => titled(name, unit))],
    conditions.map((one) => [nameOf(one.name),
      ...all.map(({ value, write }) => write(value(one)))]));
}

/** @param {Condition[]} conditions */
function plots(conditions) {
  const plot = (/** @type {ReturnType<typeof measures>[0]} */ measure) => {
    const { name, unit, means, most, value, write } = measure;
    return bars({ title: titled(name, unit), means, most, rows: conditions.map((one, tone) => ({
      name: nameOf(one.name), value: value(one), tone, words: write(value(one)) })) });
  };
  return make("div", { class: "plots" }, measures().map(plot));
}

/** @param {Conditions} score @param {number} rows */
function answers(score, rows) {
  const words = text.evaluate.conditions;
  const heads = [text.evaluate.taskScore.context,
    ...score.conditions.map(({ name }) => nameOf(name))];
  return texts(heads,
    score.prompts.slice(0, rows).map((prompt, i) => [
      [said(prompt.context), make("span", { class: "note",
        text: words.expected(prompt.expected.trim()) })],
      ...score.conditions.map((one) => [outcome(one.answers[i].exact), said(one.answers[i].text)]),
    ]));
}

/**
 * @param {Conditions} score
 * @param {number} rows of answers in sight
 * @param {(all: number) => Node[]} more the button for more of them
 */
export function conditionsParts(score, rows, more) {
  const words = text.evaluate.conditions;
  return [
    make("dl", { class: "facts named" }, score.conditions.map(({ name }) => make("div", {}, [
      make("dt", { text: nameOf(name) }), make("dd", { text: words.means[name] ?? "" })]))),
    table(score.conditions), plots(score.conditions),
    make("h4", { text: words.answers }),
    make("p", { class: "note", text: words.note(number(score.shots),
      number(score.max_new_tokens)) }),
    answers(score, rows), ...more(score.prompts.length),
  ];
}
