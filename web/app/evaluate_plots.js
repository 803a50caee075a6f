/** Bars and tables of measured numbers: SVG rectangles with their names and values in words. */

import { make } from "./dom.js";
import { text } from "./strings.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 */
function svg(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/**
 * One bar of a scale from 0 to `most`, with whiskers of an error where there is one.
 * @param {number} value
 * @param {number} most
 * @param {number} tone
 * @param {number} error
 */
function bar(value, most, tone, error) {
  const at = (/** @type {number} */ x) =>
    `${(100 * Math.min(1, Math.max(0, most > 0 ? x / most : 0))).toFixed(2)}%`;
  const picture = svg("svg", { class: "bar", "aria-hidden": "true" });
  picture.append(svg("rect", { class: "scale", width: "100%", height: "100%" }),
    svg("rect", { class: `tone-${tone}`, width: at(value), y: "20%", height: "60%" }));
  if (error > 0) {
    picture.append(svg("line", { class: "whisker", x1: at(value - error), x2: at(value + error),
      y1: "50%", y2: "50%" }));
  }
  return picture;
}

/**
 * Bars below each other. What they say stands beside them, so colour says nothing alone.
 * @param {{title: string, means: string, most?: number,
 *   rows: {name: string, value: number | null, words: string, error?: number | null,
 *     tone?: number}[]}} what
 */
export function bars({ title, means, most, rows }) {
  const top = most ?? Math.max(0, ...rows.map((row) => row.value ?? 0));
  return make("figure", { class: "bars" }, [
    make("figcaption", {}, [make("strong", { text: title }), " ",
      make("span", { class: "note", text: means })]),
    make("ul", {}, rows.map((row) => make("li", {}, [
      make("span", { class: "name", text: row.name }),
      bar(row.value ?? 0, top, row.tone ?? 0, row.error ?? 0),
      make("span", { class: "amount", text: row.words }),
    ]))),
  ]);
}

/**
 * Marks along a text: place from left to right, height for what was found there.
 * @param {{title: string, means: string, begin: string, end: string, top: string, most: number,
 *   marks: {at: number, value: number}[]}} what `at` is a share of the text
 */
export function strip({ title, means, begin, end, top, most, marks }) {
  const picture = svg("svg", { class: "strip", role: "img", "aria-label": `${title}. ${means}` });
  picture.append(svg("rect", { class: "scale", width: "100%", height: "100%" }));
  for (const { at, value } of marks) {
    const height = most > 0 ? Math.max(2, 100 * value / most) : 2;
    picture.append(svg("rect", { class: "tone-0", x: `${(99.4 * at).toFixed(2)}%`, width: 4,
      y: `${(100 - height).toFixed(2)}%`, height: `${height.toFixed(2)}%` }));
  }
  return make("figure", { class: "bars" }, [
    make("figcaption", {}, [make("strong", { text: title }), " ",
      make("span", { class: "note", text: means })]),
    make("p", { class: "note amount", text: top }), picture,
    make("p", { class: "note ends" }, [make("span", { text: begin }), make("span", { text: end })]),
  ]);
}

/**
 * A table that may scroll sideways in its own box.
 * @param {string} label
 * @param {string[]} heads
 * @param {(string | Node)[][]} rows the first cell of each is its heading
 */
export function numbers(label, heads, rows) {
  const cell = (/** @type {string | Node} */ content) =>
    make("td", {}, [content]);
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, [
    make("table", {}, [
      make("thead", {}, [make("tr", {}, heads.map((head) =>
        make("th", { scope: "col", text: head })))]),
      make("tbody", {}, rows.map(([first, ...rest]) => make("tr", {}, [
        make("th", { scope: "row" }, [first]), ...rest.map(cell)]))),
    ]),
  ]);
}

/**
 * A table of texts: on a narrow screen each row is a card whose cells name their column.
 * @param {string[]} heads
 * @param {(string | Node)[][][]} rows of cells of nodes; the first cell is the row's heading
 */
export function texts(heads, rows) {
  return make("table", { class: "answers" }, [
    make("thead", {}, [make("tr", {}, heads.map((head) =>
      make("th", { scope: "col", text: head })))]),
    make("tbody", {}, rows.map(([first, ...rest]) => make("tr", {}, [
      make("th", { scope: "row" }, first),
      ...rest.map((content, i) => make("td", { "data-head": heads[i + 1] }, content))]))),
  ]);
}

/** Right or wrong, in a sign and a word. @param {boolean} right */
export function outcome(right) {
  const words = text.evaluate.result;
  return make("span", { class: right ? "outcome" : "outcome wrong-one" }, [
    make("span", { "aria-hidden": "true", text: right ? "\u2713 " : "\u2717 " }),
    right ? words.right : words.wrong]);
}

/**
 * Text of a model or a task, without the space around it; or that there is none.
 * @param {string} said
 */
export function words(said) {
  return said.trim() === ""
    ? make("span", { class: "note", text: text.evaluate.result.nothing })
    : make("span", { class: "words", text: said.trim() });
}
