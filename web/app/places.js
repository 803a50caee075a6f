/** The places of the page: the URL's hash names the one in sight, the digits go there. */

import { changed, model } from "./model.js";
import { text } from "./strings.js";

const PLACES = ["train", "chat", "finetune", "generate", "models", "device"];
/** The keyboard's digits; those in between wait for places to come. */
/** @type {Record<string, string>} */
const DIGITS = { 1: "train", 2: "chat", 3: "finetune", 6: "models" };

/** @param {EventTarget | null} target */
function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement) return true;
  if (target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["radio", "checkbox", "file"].includes(target.type);
}

function show() {
  const [named, part] = location.hash.replace(/^#\//, "").split("/");
  const place = PLACES.includes(named) ? named : "train";
  for (const name of PLACES) {
    document.getElementById(`place-${name}`)?.toggleAttribute("hidden", name !== place);
  }
  for (const link of document.querySelectorAll("[data-place]")) {
    if (link.getAttribute("data-place") === place) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (model.place !== place) window.scrollTo(0, 0);
  model.place = place;
  changed();
  // A part of a place: its heading is brought into sight, and the keyboard goes on from there.
  if (part) document.getElementById(`${part}-heading`)?.focus();
}

/** @param {string} place */
export function goTo(place) {
  location.hash = `#/${place}`;
}

/** Sets up the navigation. */
export function setUpPlaces() {
  document.title = text.title;
  addEventListener("hashchange", show);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const place = DIGITS[event.key];
    if (place) goTo(place);
  });
  show();
}
