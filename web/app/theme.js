/** Light and dark: the system's choice, until the visitor makes one. */

import { byId, setText } from "./dom.js";
import { remember } from "./memory.js";
import { text } from "./strings.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
/** @type {Set<() => void>} */
const listeners = new Set();

/** @returns {"light" | "dark"} */
function current() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return dark.matches ? "dark" : "light";
}

/** @param {() => void} listener called when the colours have changed */
export function onTheme(listener) {
  listeners.add(listener);
}

/** Sets up the switch in the header. */
export function setUpTheme() {
  const button = byId("theme");
  const show = () => {
    setText(button, current() === "dark" ? text.theme.light : text.theme.dark);
    for (const listener of listeners) listener();
  };
  button.addEventListener("click", () => {
    const next = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    remember("tabgrad.theme", next);
    show();
  });
  dark.addEventListener("change", show);
  show();
}
