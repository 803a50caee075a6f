/** A drawing of the model, bottom to top, for the time before there is a curve. */

import { byId, make } from "./dom.js";
import { text } from "./strings.js";

const SVG = "http://www.w3.org/2000/svg";
const BYTES = ["t", "h", "e", "\u2423", "m", "o", "r", "n"];
/** Heights of the bars that stand for likelihoods; the tallest is the guess. */
const BARS = [5, 9, 4, 44, 7, 14, 6, 3, 10, 5];

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {string} [words]
 */
function shape(tag, attributes, words) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  if (words !== undefined) element.textContent = words;
  return element;
}

/**
 * @param {number} y top of the box
 * @param {string} words
 * @param {number} [inset]
 */
function box(y, words, inset = 0) {
  return [
    shape("rect", { x: 24 + inset, y, width: 272 - 2 * inset, height: 32, rx: 4, class: "box" }),
    shape("text", { x: 160, y: y + 21, class: "words" }, words),
  ];
}

/** @param {number} from bottom of the arrow
 *  @param {number} to its tip */
function arrow(from, to) {
  return shape("path", {
    class: "arrow", d: `M160 ${from}V${to}m-4 5l4 -5l4 5`,
  });
}

/** Draws the schematic into its figure. */
export function drawSchematic() {
  const { parts, svgTitle, example } = text.intro;
  const svg = shape("svg", { viewBox: "0 0 320 360", role: "img" });
  svg.append(
    shape("title", {}, svgTitle),
    ...BARS.map((height, i) => shape("rect", {
      x: 96 + i * 13, y: 52 - height, width: 9, height, rx: 1,
      class: height === Math.max(...BARS) ? "bar guess" : "bar",
    })),
    shape("text", { x: 160, y: 72, class: "words" }, parts.guess),
    arrow(104, 82),
    shape("rect", { x: 24, y: 104, width: 272, height: 124, rx: 6, class: "block" }),
    ...box(116, parts.mlp, 12),
    arrow(168, 150),
    ...box(168, parts.attention, 12),
    shape("text", { x: 160, y: 219, class: "words quiet" }, parts.block),
    arrow(248, 230),
    ...box(248, parts.embed),
    arrow(300, 282),
    ...BYTES.flatMap((byte, i) => [
      shape("rect", { x: 32 + i * 32.5, y: 302, width: 28, height: 28, rx: 4, class: "box" }),
      shape("text", { x: 46 + i * 32.5, y: 321, class: "byte" }, byte),
    ]),
    shape("text", { x: 160, y: 350, class: "words quiet" }, parts.bytes),
  );
  byId("schematic").append(svg, make("figcaption", { class: "note", text: example }));
}
