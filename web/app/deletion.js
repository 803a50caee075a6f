/** An entry of a list goes only after a question that names what would go. */

import { focusSoon, make } from "./dom.js";

/**
 * What a list knows by itself: the entry whose deletion waits for a yes.
 * @typedef {{doomed: string, redraw: () => void}} List
 */

/**
 * Asks whether an entry should go: the list draws the question, and its yes has the focus.
 * @param {List} list
 * @param {string} name of the entry
 * @param {string} yes id of the button
 */
export function askFirst(list, name, yes) {
  list.doomed = name;
  list.redraw();
  focusSoon(yes);
}

/**
 * The question, in place of an entry's buttons.
 * @param {List} list
 * @param {string} words
 * @param {{id: string, text: string, "aria-label"?: string}} yes
 * @param {{id: string, text: string}} no
 * @param {string} back id of what has the focus after a no
 * @param {() => Promise<void>} go deletes the entry
 */
export function question(list, words, yes, no, back, go) {
  return make("div", { class: "confirm", role: "group" }, [
    make("p", { text: words }),
    make("div", { class: "row" }, [
      make("button", {
        type: "button", class: "grave", ...yes, onclick: async () => {
          list.doomed = "";
          await go();
          list.redraw();
        },
      }),
      make("button", {
        type: "button", ...no, onclick: () => {
          list.doomed = "";
          list.redraw();
          focusSoon(back);
        },
      }),
    ]),
  ]);
}
