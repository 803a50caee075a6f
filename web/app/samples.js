/** What the model wrote along the way, newest first, each with its step. */

import { byId, fill, make, setText } from "./dom.js";
import { number } from "./format.js";
import { model, watch } from "./model.js";
import { text } from "./strings.js";

const IN_SIGHT = 4;

/** @param {import("./types.js").Sample} sample */
function row(sample) {
  return make("li", {}, [
    make("span", { class: "stamp", text: text.samples.at(number(sample.step)) }),
    make("p", { class: "sample", text: sample.text }),
  ]);
}

function draw() {
  const { samples, run, state } = model.live;
  byId("samples").hidden = run === null || (samples.length === 0 && state === "idle");
  const newest = [...samples].reverse();
  fill(byId("sample-list"), newest.length > 0
    ? newest.slice(0, IN_SIGHT).map(row)
    : [make("li", { class: "note", text: text.samples.waiting })]);
  const older = newest.slice(IN_SIGHT);
  byId("samples-older").hidden = older.length === 0;
  setText(byId("samples-older-summary"), text.samples.older(number(older.length)));
  fill(byId("sample-list-older"), older.map(row));
}

/** Sets up the list of samples. */
export function setUpSamples() {
  watch((m) => [m.live.samples, m.live.run, m.live.state], draw);
}
