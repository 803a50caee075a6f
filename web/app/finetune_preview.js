/** What the model sees, token by token: what it learns, what it only reads, where documents end. */

import { byId, fill, make, setText } from "./dom.js";
import { number } from "./format.js";
import { changed, model, watch } from "./model.js";
import { text } from "./strings.js";

/** @typedef {import("./types.js").ShownToken} ShownToken */

/** So many rows before the last of those in hand more are asked for, and so many times as many. */
const AHEAD = 4;
const GROWTH = 4;
const MOST_ROWS = 128;

let at = 0;

/** A token's text with its line ends made visible. @param {string} words */
function visible(words) {
  return words.replaceAll("\n", "\u21b5\n").replaceAll("\t", "\u21e5");
}

/**
 * Tokens in a row that are learned or only read together, as one group: a screen reader says
 * once what they are.
 * @param {ShownToken[]} tokens
 */
function groups(tokens) {
  /** @type {ShownToken[][]} */
  const all = [];
  for (const token of tokens) {
    const last = all[all.length - 1];
    if (last && last[0].trained === token.trained && last[0].document === token.document) {
      last.push(token);
    } else all.push([token]);
  }
  return all;
}

/** @param {ShownToken[]} tokens @param {boolean} begins whether a document begins here */
function group(tokens, begins) {
  const words = text.finetune.preview;
  const { trained, document: n } = tokens[0];
  const border = make("span", { class: "border" }, [
    make("span", { class: "unseen", text: `${words.document(number(n + 1))}: ` })]);
  return make("span", { class: trained ? "learned" : "read" }, [
    ...(begins ? [border] : []),
    make("span", { class: "unseen", text: trained ? words.learned : words.read }),
    ...tokens.map((token) => make("span", {
      class: "token", text: visible(token.text), title: words.token(String(token.id)) })),
  ]);
}

function draw() {
  const { facts } = model.tune;
  const rows = facts?.preview ?? [];
  byId("finetune-preview").hidden = rows.length === 0;
  if (!facts || rows.length === 0) return;
  at = Math.max(0, Math.min(at, rows.length - 1));
  const words = text.finetune.preview;
  setText(byId("finetune-preview-at"), words.at(number(at + 1), number(facts.rows)));
  /** @type {HTMLButtonElement} */ (byId("finetune-preview-back")).disabled = at === 0;
  /** @type {HTMLButtonElement} */ (byId("finetune-preview-on")).disabled = at >= rows.length - 1;
  let before = -1;
  fill(byId("finetune-preview-row"), groups(rows[at].tokens).map((tokens) => {
    const begins = tokens[0].document !== before;
    before = tokens[0].document;
    return group(tokens, begins);
  }));
}

/** @param {number} by */
function turn(by) {
  const { tune } = model;
  at += by;
  const known = tune.facts?.preview.length ?? 0;
  // More rows are asked for before they are needed.
  if (by > 0 && at >= known - AHEAD && known >= tune.rows && tune.rows < MOST_ROWS) {
    tune.rows = Math.min(MOST_ROWS, tune.rows * GROWTH);
    changed();
  }
  draw();
}

/** Sets up the rows and the buttons that turn them. */
export function setUpTunePreview() {
  setText(byId("finetune-preview-legend"), text.finetune.preview.legend);
  byId("finetune-preview-back").addEventListener("click", () => turn(-1));
  byId("finetune-preview-on").addEventListener("click", () => turn(1));
  watch((m) => [m.tune.corpus, m.tune.base], () => {
    at = 0;
    draw();
  });
  watch((m) => [m.tune.facts], draw);
}
