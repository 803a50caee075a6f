/**
 * Problems stand at the control that mends them, and stay until they are read (dismissed) or
 * the same thing is tried again.
 */

import { Failure } from "./client.js";
import { make } from "./dom.js";
import { model } from "./model.js";
import { goTo } from "./places.js";
import { text } from "./strings.js";

/** @typedef {import("./types.js").Problem} Problem */

/** @type {Map<HTMLElement, {note: HTMLElement, control: HTMLElement | null}>} */
const shown = new Map();

/**
 * What can be pressed, by the problem's code.
 * @param {Problem} problem
 */
function remedyButton(problem) {
  if (problem.code === "storage") {
    return make("button", {
      type: "button", text: text.problems.seeStorage, onclick: () => goTo("device"),
    });
  }
  if (problem.code === "protocol") {
    return make("button", {
      type: "button", text: text.problems.reload, onclick: () => location.reload(),
    });
  }
  return null;
}

/**
 * The sentences of a problem, as nodes.
 * @param {Problem} problem
 * @returns {Node[]}
 */
export function describeProblem(problem) {
  const sentences = [problem.message];
  if (problem.expected) sentences.push(text.problems.expected(problem.expected));
  if (problem.received) sentences.push(text.problems.received(problem.received));
  if (problem.remedy) sentences.push(problem.remedy);
  /** @type {Node[]} */
  const nodes = [make("p", { text: sentences.join(" ") })];
  if (problem.detail) {
    nodes.push(make("details", {}, [
      make("summary", { text: text.problems.detail }),
      make("pre", { text: problem.detail }),
    ]));
  }
  return nodes;
}

/**
 * The control that a problem names, in the place where the command was given.
 * @param {Problem} problem
 * @param {HTMLElement} home
 */
function findControl(problem, home) {
  if (!problem.control) return null;
  const place = home.closest(".place")?.id.replace("place-", "") ?? model.place;
  return document.getElementById(`${place}-${problem.control}`)
    ?? document.getElementById(problem.control);
}

/**
 * Shows a problem at its control, or in `home` when it names none.
 * @param {unknown} reason a Failure, or a Problem
 * @param {HTMLElement} home where the command was given
 * @param {Node[]} [buttons] put in place of the usual ones
 */
export function showProblem(reason, home, buttons) {
  const problem = reason instanceof Failure ? reason.problem : /** @type {Problem} */ (reason);
  if (typeof problem?.code !== "string") throw reason;
  clearProblem(home);
  const control = findControl(problem, home);
  const parent = control?.closest(".field")
    ?? document.getElementById(`${control?.id}-problem`) ?? home;
  const dismiss = make("button", {
    type: "button", class: "quiet", text: text.problems.dismiss,
    onclick: () => {
      clearProblem(home);
      control?.focus();
    },
  });
  const remedy = remedyButton(problem);
  const row = make("div", { class: "row" }, [...(buttons ?? (remedy ? [remedy] : [])), dismiss]);
  const note = make("div", { class: "problem", role: "alert", id: `problem-at-${home.id}` },
    [...describeProblem(problem), row]);
  note.dataset.code = problem.code;
  parent.append(note);
  shown.set(home, { note, control });
  if (control) {
    control.closest("details")?.setAttribute("open", "");
    control.setAttribute("aria-invalid", "true");
    control.setAttribute("aria-describedby", note.id);
    control.focus();
  }
  note.scrollIntoView({ block: "nearest" });
}

/** @param {HTMLElement} home */
export function clearProblem(home) {
  const old = shown.get(home);
  if (!old) return;
  old.note.remove();
  old.control?.removeAttribute("aria-invalid");
  old.control?.removeAttribute("aria-describedby");
  shown.delete(home);
}
