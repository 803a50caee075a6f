/** The frame of a chart, from the page's one template: legend, buttons, table and read-out. */

import { byId } from "./dom.js";

/**
 * Puts a frame into a picture's figure.
 * @param {string} prefix begins the ids of the picture's elements
 */
export function frameChart(prefix) {
  const template = /** @type {HTMLTemplateElement} */ (byId("chart-frame"));
  const frame = document.importNode(template.content, true);
  for (const name of ["id", "aria-controls"]) {
    for (const element of frame.querySelectorAll(`[${name}]`)) {
      element.setAttribute(name, prefix + element.getAttribute(name));
    }
  }
  byId(`${prefix}chart-figure`).append(frame);
}
