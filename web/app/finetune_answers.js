/** The answers to a visitor's own questions, before and at each validation. As text, never HTML. */

import { byId, fill, make, setText } from "./dom.js";
import { number } from "./format.js";
import { changed, isActive, model, watch } from "./model.js";
import { text } from "./strings.js";
import { compareWords } from "./word_diff.js";

/** @typedef {import("./types.js").Answers} Answers */

/** @param {Answers | undefined} at @param {string} prompt */
function answerTo(at, prompt) {
  return at?.answers.find((one) => one.prompt === prompt)?.text;
}

/** @param {string | undefined} answer */
function plain(answer) {
  const words = text.finetune.answers;
  if (answer === undefined) return make("span", { class: "note", text: words.noBefore });
  return answer.trim() === "" ? make("span", { class: "note", text: words.nothing })
    : make("span", { class: "words", text: answer });
}

/** @param {string | undefined} before @param {string | undefined} after */
function compared(before, after) {
  if (before === undefined || after === undefined || after.trim() === "") return [plain(after)];
  if (before === after) {
    return [plain(after), make("span", { class: "note", text: text.finetune.answers.same })];
  }
  return [make("span", { class: "words" }, compareWords(before, after).map(({ words, fresh }) =>
    make(fresh ? "ins" : "span", { text: words })))];
}

/**
 * @param {Answers} first
 * @param {Answers | undefined} chosen
 */
function table(first, chosen) {
  const words = text.finetune.answers;
  const heads = [words.question, words.before,
    ...(chosen ? [words.atHead(number(chosen.step))] : [])];
  // The oldest and the chosen evaluation may have been asked different things, after a resume.
  const prompts = [...new Set([...first.answers, ...(chosen?.answers ?? [])]
    .map((one) => one.prompt))];
  const cell = (/** @type {number} */ at, /** @type {Node[]} */ content) =>
    make("td", { "data-head": heads[at] }, content);
  return [
    make("thead", {}, [make("tr", {}, heads.map((head) =>
      make("th", { scope: "col", text: head })))]),
    make("tbody", {}, prompts.map((prompt) => {
      const before = answerTo(first, prompt);
      return make("tr", {}, [
        make("th", { scope: "row", text: prompt }), cell(1, [plain(before)]),
        ...(chosen ? [cell(2, compared(before, answerTo(chosen, prompt)))] : []),
      ]);
    })),
  ];
}

/** @param {Answers} at */
function evaluation(at) {
  return make("li", {}, [
    make("span", { class: "stamp", text: text.finetune.answers.at(number(at.step)) }),
    make("dl", {}, at.answers.flatMap(({ prompt, text: answer }) => [
      make("dt", { text: prompt }), make("dd", {}, [plain(answer)])])),
  ]);
}

/** @param {Answers[]} later @param {Answers | undefined} chosen */
function drawChoice(later, chosen) {
  const words = text.finetune.answers;
  const select = /** @type {HTMLSelectElement} */ (byId("finetune-compare"));
  const latest = later[later.length - 1];
  select.disabled = later.length === 0;
  fill(select, [...later].reverse().map(({ step }) => make("option", {
    value: step, text: step === latest.step ? words.latest(number(step)) : words.at(number(step)),
  })));
  if (chosen) select.value = String(chosen.step);
}

function draw() {
  const { live, compare } = model.tune;
  const words = text.finetune.answers;
  const asked = (live.run?.finetune?.prompts.length ?? 0) > 0 || live.answers.length > 0;
  byId("finetune-answers").hidden = live.run === null || (!asked && !isActive(live));
  const note = byId("finetune-answers-note");
  const home = byId("finetune-answers-table");
  const [first, ...later] = live.answers;
  home.hidden = !first;
  byId("finetune-answers-older").hidden = later.length === 0;
  const chosen = later.find((one) => one.step === compare) ?? later[later.length - 1];
  drawChoice(later, chosen);
  if (!first) {
    setText(note, asked ? words.onlyBefore : words.none);
    return;
  }
  fill(home, table(first, chosen));
  setText(note, chosen ? words.note : words.onlyBefore);
  setText(byId("finetune-answers-older-summary"), words.older(number(live.answers.length)));
  fill(byId("finetune-answers-list"), [...live.answers].reverse().map(evaluation));
}

/** Sets up the table and the choice of a step. */
export function setUpTuneAnswers() {
  const select = /** @type {HTMLSelectElement} */ (byId("finetune-compare"));
  select.addEventListener("change", () => {
    const latest = model.tune.live.answers.at(-1);
    // Whoever reads the latest goes on reading the latest.
    model.tune.compare = Number(select.value) === latest?.step ? null : Number(select.value);
    changed();
  });
  watch((m) => [m.tune.live.answers, m.tune.live.run, m.tune.live.state, m.tune.compare], draw);
}
