/** What was measured, with every number explained: the picture of the evaluation panel. */

import { byId, facts, fill, fillKeepingFocus, make } from "./dom.js";
import { comparison } from "./evaluate_compare.js";
import { conditionsParts } from "./evaluate_conditions.js";
import { memoryParts } from "./evaluate_memory.js";
import { exportButtons } from "./evaluate_kept.js";
import { bars, outcome, texts, words as said } from "./evaluate_plots.js";
import { adapterTitle, figure, judge, percent, redraw, titleOf } from "./evaluate_state.js";
import { ago, choices, milliseconds, number } from "./format.js";
import { watch } from "./model.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./evaluate_state.js").Evaluation} Evaluation */
/** @typedef {import("./evaluate_state.js").TextScore} TextScore */
/** @typedef {import("./evaluate_state.js").TaskScore} TaskScore */
/** @typedef {import("./evaluate_state.js").ItemScore} ItemScore */
/** @typedef {import("./evaluate_state.js").Speed} Speed */

/** Rows of a table of texts that are shown at once, and what is shown of which evaluation. */
const ROWS = 10;
const view = { of: "", rows: ROWS, wrong: false };

/**
 * A number in large figures, with its name, its unit and what it means.
 * @param {string} name
 * @param {string} value
 * @param {string} unit
 * @param {string} means
 */
function big(name, value, unit, means) {
  return make("div", { class: "measure" }, [
    make("dt", { text: name }),
    make("dd", {}, [make("strong", { text: value }), ...(unit ? [` ${unit}`] : [])]),
    make("dd", { class: "note", text: means }),
  ]);
}

/** @param {TextScore} score */
function textParts(score) {
  const words = text.evaluate.textScore;
  return [
    make("dl", { class: "measures" }, [
      big(words.bits, figure(score.bits_per_byte), words.bitsUnit, words.bitsMeans),
      big(words.loss, figure(score.loss), words.nats, score.loss === null ? words.lossMeans
        : words.lossWords(words.lossMeans, figure(score.loss), choices(score.loss))),
      big(words.perplexity, figure(score.perplexity), "", words.perplexityMeans),
    ]),
    make("dl", { class: "facts small" }, facts([
      [words.tokens, number(score.tokens)], [words.bytes, number(score.bytes)],
      [words.unscored, number(score.unscored_bytes)],
      [words.context, words.ofTokens(number(score.context_length))],
      [words.overlap, words.ofTokens(number(score.overlap))],
      [words.windows, number(score.windows)],
    ])),
  ];
}

/** @param {Speed} speed */
function speedParts(speed) {
  const words = text.evaluate.speed;
  return [make("h4", { text: text.evaluate.taskScore.written }),
    make("dl", { class: "measures" }, [
      big(words.tokens, figure(speed.tokens_per_second), words.tokensUnit, words.tokensMeans),
      big(words.first, speed.first_token_ms === null ? figure(null)
        : milliseconds(speed.first_token_ms), "", words.firstMeans),
      big(words.bandwidth, figure(speed.kilobytes_per_second), words.bandwidthUnit,
        words.bandwidthMeans),
    ])];
}

/** @param {TaskScore} score */
function accuracyBars(score) {
  const words = text.evaluate.taskScore;
  const row = (/** @type {string} */ name, /** @type {number | null} */ value,
    /** @type {number | null} */ error, tone = 0) => ({ name, value, error, tone,
    words: error === null ? percent(value) : words.plusMinus(percent(value), percent(error)) });
  const rows = [];
  if (score.choice) {
    rows.push(row(words.choice, score.choice.accuracy, score.choice.standard_error),
      row(words.perByte, score.choice.accuracy_per_byte, null, 2));
  }
  if (score.cloze) rows.push(row(words.cloze, score.cloze.accuracy, score.cloze.standard_error, 1));
  const chance = score.choice ? ` ${words.chance(percent(score.choice.chance))}` : "";
  return bars({ title: words.plot, means: `${words.plotMeans} ${words.errorMeans}${chance}`,
    most: 1, rows });
}

/** @param {ItemScore} item @param {number} at */
function choice(item, at) {
  const nats = item.logprobs[at];
  return make("span", { class: "note", text: nats === null ? ""
    : text.evaluate.taskScore.logprob(figure(nats)) });
}

/** @param {ItemScore} item */
function itemRow(item) {
  const words = text.evaluate.taskScore;
  const chosen = item.chosen === null
    ? [make("span", { class: "note", text: words.other })]
    : [said(item.choices[item.chosen]), choice(item, item.chosen)];
  return [
    [said(item.context), make("span", { class: "note", text: words.line(number(item.line)) })],
    [said(item.choices[item.answer]), choice(item, item.answer)], chosen, [outcome(item.correct)],
  ];
}

/**
 * A button that shows more rows, while there are more.
 * @param {number} all
 */
export function moreButton(all) {
  if (all <= view.rows) return [];
  const next = Math.min(all - view.rows, 200);
  return [make("button", { type: "button", class: "quiet", id: "evaluate-more",
    text: text.evaluate.result.more(number(next)), onclick: () => {
      view.rows += next;
      redraw();
    } })];
}

/** @param {TaskScore} score @param {Speed | null} speed */
function taskParts(score, speed) {
  const words = text.evaluate.taskScore;
  const shown = score.items.filter((item) => !view.wrong || !item.correct);
  const wrong = make("input", { type: "checkbox", id: "evaluate-only-wrong", onchange: () => {
    view.wrong = wrong.checked;
    redraw();
  } });
  wrong.checked = view.wrong;
  const loss = (/** @type {string} */ name, /** @type {number | null | undefined} */ value) =>
    /** @type {[string, string][]} */ (value === undefined ? []
      : [[`${words.loss}, ${name}`, `${figure(value)} ${words.natsByte}`]]);
  return [
    make("dl", { class: "measures" }, [
      big(words.accuracy, percent(score.accuracy), "", words.accuracyMeans),
      big(words.goodput, figure(score.goodput), words.goodputUnit, words.goodputMeans),
    ]),
    accuracyBars(score),
    make("dl", { class: "facts small" }, facts([
      ...loss(words.choice, score.choice?.loss_per_byte),
      ...loss(words.cloze, score.cloze?.loss_per_byte),
      [words.time, score.seconds === null ? figure(null) : milliseconds(1000 * score.seconds)],
      ...(score.bad_lines ? [/** @type {[string, string]} */ ([words.bad,
        number(score.bad_lines)])] : []),
    ])),
    make("p", { class: "note", text: words.lossMeans }),
    ...(speed ? speedParts(speed) : []),
    make("div", { class: "part-head" }, [make("h4", { text: words.items }),
      make("label", { class: "option", for: "evaluate-only-wrong" }, [wrong,
        make("span", { text: words.onlyWrong })])]),
    make("p", { class: "note", text: words.logprobMeans }),
    texts([words.context, words.expected, words.chosen, words.outcome],
      shown.slice(0, view.rows).map(itemRow)),
    ...moreButton(shown.length),
  ];
}

/** @param {Evaluation} one */
function parts({ kind, result: { score, speed } }) {
  if (kind === "text") return textParts(score);
  if (kind === "tasks") return taskParts(score, speed);
  if (kind === "conditions") return conditionsParts(score, view.rows, moreButton);
  return memoryParts(score);
}

/** @param {Client} client @param {Evaluation} one */
function whole(client, one) {
  const words = text.evaluate.result;
  const { subject, device } = one.result;
  const adapter = one.adapter ? adapterTitle(one.adapter) : "";
  return [
    make("div", { class: "part-head" }, [
      make("h3", { id: "evaluate-result-heading", tabindex: "-1",
        text: text.evaluate.form.kinds[one.kind]?.[0] ?? one.kind }),
      make("span", { class: "row" }, [...exportButtons(client, one, "shown"),
        make("button", { type: "button", class: "quiet", id: "evaluate-close", text: words.close,
          onclick: () => {
            judge.shown = null;
            redraw();
          } })]),
    ]),
    make("p", { text: words.line(titleOf(one.model), adapter) }),
    make("p", { class: "note", text: `${words.on(subject.name, device)}, ${ago(one.created_at)}` }),
    ...parts(one),
  ];
}

/** @param {Client} client */
function draw(client) {
  const home = byId("evaluate-result");
  const { shown, compared } = judge;
  const of = shown?.evaluation ?? "";
  if (view.of !== of) Object.assign(view, { of, rows: ROWS, wrong: false });
  if (compared) fillKeepingFocus(home, comparison(compared));
  else if (shown) fillKeepingFocus(home, whole(client, shown));
  else fill(home, [make("p", { class: "note", text: text.evaluate.result.intro })]);
}

/** @param {Client} client */
export function setUpEvaluateResult(client) {
  watch((m) => [judge.shown, judge.compared, judge.version, m.library.models, m.tune.adapters],
    () => draw(client));
}
