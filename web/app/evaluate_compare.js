/** Two kept evaluations side by side, and the items that only one of them got right. */

import { download, make } from "./dom.js";
import { numbers, texts, words as said } from "./evaluate_plots.js";
import { figure, judge, redraw } from "./evaluate_state.js";
import { number } from "./format.js";
import { text } from "./strings.js";

/** @typedef {import("./evaluate_state.js").Comparison} Comparison */

/** @param {number | null} value */
const signed = (value) => (value !== null && value > 0 ? `+${figure(value)}` : figure(value));

/** @param {Comparison} found */
function rows(found) {
  const words = text.evaluate.compare;
  return numbers(words.heading,
    [words.measure, text.evaluate.kept.first, text.evaluate.kept.second, words.difference,
      words.better],
    found.rows.map((row) => [row.unit ? `${row.name}, ${row.unit}` : row.name,
      figure(row.first), figure(row.second), signed(row.difference),
      words.betters[row.better] ?? ""]));
}

/** @param {Comparison} found */
function flips(found) {
  const words = text.evaluate.compare;
  const { taskScore, kept } = text.evaluate;
  return texts([taskScore.context, taskScore.expected, words.who], found.flips.map((flip) => [
    [said(flip.context), make("span", { class: "note", text: [
      taskScore.line(number(flip.line)),
      ...(flip.condition ? [flip.condition] : [])].join(", ") })],
    [said(flip.expected)], [flip.first ? kept.first : kept.second]]));
}

/** @param {{table: Comparison, markdown: string}} compared */
export function comparison({ table, markdown }) {
  const words = text.evaluate.compare;
  const judged = judge.kept.find((one) => one.title === table.first)?.kind;
  const hasItems = judged === "tasks" || judged === "conditions";
  return [
    make("div", { class: "part-head" }, [
      make("h3", { id: "evaluate-result-heading", tabindex: "-1", text: words.heading }),
      make("span", { class: "row" }, [
        make("button", { type: "button", class: "quiet", id: "evaluate-compare-markdown",
          text: words.markdown, onclick: () => download(words.fileName,
            new Blob([markdown], { type: "text/markdown" })) }),
        make("button", { type: "button", class: "quiet", id: "evaluate-close",
          text: text.evaluate.result.close, onclick: () => {
            judge.compared = null;
            redraw();
          } }),
      ]),
    ]),
    make("p", { text: words.a(table.first) }), make("p", { text: words.b(table.second) }),
    ...table.notes.map((note) => make("p", { class: "note", text: note })),
    rows(table),
    ...(table.flips.length > 0 ? [make("h4", { text: words.flips }), flips(table)]
      : hasItems ? [make("p", { class: "note", text: words.noFlips })] : []),
  ];
}
