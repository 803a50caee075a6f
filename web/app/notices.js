/** Things worth knowing that need no answer: they wait at the top until they are dismissed. */

import { byId, make } from "./dom.js";
import { describeProblem } from "./problems.js";
import { text } from "./strings.js";

/** @type {Map<string, HTMLElement>} */
const shown = new Map();

/**
 * Adds a notice; one with the same key takes the old one's place.
 * @param {string} key
 * @param {Node[]} content
 * @param {Node[]} [buttons]
 */
function add(key, content, buttons = []) {
  dropNotice(key);
  const close = make("button", {
    type: "button", class: "quiet", text: text.notices.dismiss, onclick: () => dropNotice(key),
  });
  const notice = make("div", { class: "notice" }, [
    make("div", {}, content),
    make("div", { class: "row" }, [...buttons, close]),
  ]);
  notice.dataset.code = key;
  shown.set(key, notice);
  byId("notices").append(notice);
}

/**
 * @param {string} key
 * @param {string} words
 */
export function addNotice(key, words) {
  add(key, [make("p", { text: words })]);
}

/**
 * A problem that belongs to no single control.
 * @param {import("./types.js").Problem} problem
 * @param {Node[]} [buttons]
 */
export function addProblemNotice(problem, buttons) {
  add(problem.code, describeProblem(problem), buttons);
  shown.get(problem.code)?.classList.add("grave");
}

/** @param {string} key */
export function dropNotice(key) {
  shown.get(key)?.remove();
  shown.delete(key);
}
