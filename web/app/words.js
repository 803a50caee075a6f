/** Puts the table of strings into the elements that name an entry of it. */

import { text } from "./strings.js";

/** @param {string} path as in `nav.train` */
function entry(path) {
  /** @type {any} */
  let value = text;
  for (const part of path.split(".")) value = value?.[part];
  if (typeof value !== "string") throw new Error(`strings.js has no text "${path}".`);
  return value;
}

/** Fills every `data-text` and `data-label` of the page. */
export function fillWords() {
  for (const element of document.querySelectorAll("[data-text]")) {
    element.textContent = entry(element.getAttribute("data-text") ?? "");
  }
  for (const element of document.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", entry(element.getAttribute("data-label") ?? ""));
  }
}
