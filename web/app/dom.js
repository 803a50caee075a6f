/** A few helpers for the document. Text goes in as text, never as HTML. */

/**
 * The element with this id; the page cannot work without it.
 * @template {HTMLElement} [E=HTMLElement]
 * @param {string} id
 * @returns {E}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no element with the id "${id}".`);
  return /** @type {E} */ (element);
}

/**
 * Makes an element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | boolean | EventListener>} [attributes] `class`,
 *   `text`, `on<event>` listeners, booleans; all else is an attribute
 * @param {(Node | string)[]} [children]
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, attributes = {}, children = []) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = String(value);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/**
 * Sets text only when it differs, so that a steady page does no layout.
 * @param {HTMLElement} element
 * @param {string} value
 */
export function setText(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

/**
 * Puts children in place of the old ones.
 * @param {HTMLElement} element
 * @param {(Node | string)[]} children
 */
export function fill(element, children) {
  element.replaceChildren(...children);
}

/**
 * The same, and the control that had the focus has it again, if there is still one of its id.
 * @param {HTMLElement} element
 * @param {(Node | string)[]} children
 */
export function fillKeepingFocus(element, children) {
  const focused = element.contains(document.activeElement) ? document.activeElement?.id : "";
  element.replaceChildren(...children);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/**
 * Gives the focus to an element that the next drawing makes, if it does.
 * @param {string} id
 */
export function focusSoon(id) {
  requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById(id)?.focus()));
}

/**
 * Rows of a two-column table of facts.
 * @param {[string, string][]} pairs
 * @returns {HTMLElement[]}
 */
export function facts(pairs) {
  return pairs.map(([term, value]) =>
    make("div", {}, [make("dt", { text: term }), make("dd", { text: value })]),
  );
}

/**
 * Hands the visitor a file.
 * @param {string} name
 * @param {Blob} blob
 */
export function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
