/** What a model recites of its training text: the longest, how long all are, and where. */

import { facts, make } from "./dom.js";
import { bars, numbers, strip } from "./evaluate_plots.js";
import { cut, figure, percent, redraw } from "./evaluate_state.js";
import { number } from "./format.js";
import { text } from "./strings.js";

/** @typedef {import("./evaluate_state.js").Memorised} Memorised */
/** @typedef {import("./evaluate_state.js").Continuation} Continuation */

/** Where the bins of the histogram begin, in characters. */
const BINS = [0, 1, 10, 25, 50, 100, 200];
const SHOWN = 60;
let tableOpen = false;

/** @param {number} line @param {number} offset */
const place = (line, offset) => text.evaluate.memory.where(number(line), number(offset));

/** @param {Continuation} one */
function quote(one) {
  const words = text.evaluate.memory;
  const [recited, own] = cut(one.text, one.verbatim);
  const piece = (/** @type {string} */ tag, /** @type {string} */ lead,
    /** @type {string} */ content) => (content ? [make(/** @type {"mark"} */ (tag), {}, [
    make("span", { class: "unseen", text: lead }), content])] : []);
  return make("blockquote", { class: "recital", tabindex: "0" }, [
    ...piece("span", words.read, one.prefix), ...piece("mark", words.recited, recited),
    ...piece("em", words.own, own)]);
}

/** @param {Memorised} score */
function longest(score) {
  const words = text.evaluate.memory;
  const [best] = score.continuations;
  return [
    make("dl", { class: "measures" }, [make("div", { class: "measure" }, [
      make("dt", { text: words.longest }),
      make("dd", {}, [make("strong", { text: words.characters(number(score.longest)) }),
        ` (${words.tokens(number(score.longest_tokens))})`]),
      make("dd", { class: "note", text: words.means })])]),
    ...(score.longest === 0 ? [make("p", { text: words.none })] : [
      make("p", { class: "note", text: words.after(place(best.line, best.offset)) }),
      quote(best), make("p", { class: "note", text: words.legend })]),
  ];
}

/** @param {Continuation[]} all */
function histogram(all) {
  const words = text.evaluate.memory;
  const rows = BINS.map((from, i) => {
    const next = BINS[i + 1] ?? Infinity;
    const value = all.filter((one) => one.verbatim >= from && one.verbatim < next).length;
    return { name: words.bin(number(from), Number.isFinite(next) ? number(next - 1) : ""), value,
      words: number(value) };
  });
  return bars({ title: words.histogram, means: words.histogramMeans, rows });
}

/** @param {Memorised} score */
function places(score) {
  const words = text.evaluate.memory;
  return strip({ title: words.strip, means: words.stripMeans, begin: words.begin, end: words.end,
    top: words.characters(number(score.longest)), most: score.longest,
    marks: score.continuations.map((one) => ({ at: one.offset / Math.max(1, score.characters),
      value: one.verbatim })) });
}

/** @param {Memorised} score */
function table(score) {
  const words = text.evaluate.memory;
  const toggle = make("button", { type: "button", class: "quiet", id: "evaluate-memory-table",
    text: text.evaluate.result.table, "aria-expanded": String(tableOpen), onclick: () => {
      tableOpen = !tableOpen;
      redraw();
    } });
  if (!tableOpen) return [toggle];
  return [toggle, numbers(words.strip,
    [words.place, words.verbatim, words.anywhere, words.words],
    score.continuations.slice(0, 1000).map((one) => [place(one.line, one.offset),
      words.characters(number(one.verbatim)),
      one.found_offset === null ? number(one.found)
        : `${number(one.found)}, ${place(one.found_line ?? 1, one.found_offset)}`,
      make("span", { class: "words", text: cut(one.text, Math.min(one.verbatim, SHOWN))[0] }),
    ]))];
}

/** @param {Memorised} score */
export function memoryParts(score) {
  const words = text.evaluate.memory;
  const found = [...score.continuations].sort((a, b) => b.found - a.found)[0];
  return [
    ...longest(score),
    make("dl", { class: "facts small" }, facts([
      [words.prefixes, number(score.continuations.length)],
      [words.mean, words.characters(figure(score.mean))],
      [words.copied, percent(score.copied)],
      [words.found, found.found_offset === null ? words.characters(number(0))
        : `${words.characters(number(score.longest_found))}, ${place(found.found_line ?? 1,
          found.found_offset)}`],
    ])),
    histogram(score.continuations), places(score), ...table(score),
  ];
}
