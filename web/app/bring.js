/** How a text of one's own comes: the form that takes what is pasted, a chosen file, its bytes. */

import { byId } from "./dom.js";
import { showProblem } from "./problems.js";
import { text } from "./strings.js";

/**
 * Opens and closes a place's paste form, and hands on what was pasted.
 * @param {string} prefix of the ids: -paste opens -paste-form with the field -text
 * @param {(data: Uint8Array) => Promise<boolean>} take whether the text was taken; else it stays
 */
export function setUpPaste(prefix, take) {
  const form = byId(`${prefix}-paste-form`);
  const area = /** @type {HTMLTextAreaElement} */ (byId(`${prefix}-text`));
  const toggle = byId(`${prefix}-paste`);
  const open = (/** @type {boolean} */ yes) => {
    form.hidden = !yes;
    toggle.setAttribute("aria-expanded", String(yes));
  };
  toggle.addEventListener("click", () => {
    open(form.hidden !== false);
    if (!form.hidden) area.focus();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!await take(new TextEncoder().encode(area.value))) return;
    area.value = "";
    open(false);
    toggle.focus();
  });
}

/**
 * Hands on a file that was chosen; the same one can be chosen again.
 * @param {string} id of the input
 * @param {(file: File) => Promise<unknown>} take
 */
export function setUpFile(id, take) {
  const input = /** @type {HTMLInputElement} */ (byId(id));
  input.addEventListener("change", async () => {
    const chosen = input.files?.[0];
    if (chosen) await take(chosen);
    input.value = "";
  });
}

/**
 * What is in a file; null, and a problem is shown, where the browser cannot read it.
 * @param {File} file
 * @param {HTMLElement} home of the problem
 */
export async function bytesOf(file, home) {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch (reason) {
    if (!(reason instanceof DOMException)) throw reason;
    const message = text.problems.unreadableFile(file.name);
    showProblem({ code: "data", message, detail: reason.message }, home);
    return null;
  }
}
