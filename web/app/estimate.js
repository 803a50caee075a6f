/** What a run would cost, asked of the worker before it starts. */

import { byId, facts, fill, setText } from "./dom.js";
import { bytes, duration, milliseconds, number } from "./format.js";
import { model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./types.js").Estimate} Estimate */

const DELAY_MS = 200;

/** @param {Estimate} estimate */
function draw(estimate) {
  const { about, unknown } = text.estimate;
  const timed = estimate.step_ms > 0;
  byId("estimate-parts").hidden = false;
  setText(byId("estimate-summary"), [
    bytes(estimate.total_bytes),
    ...(timed ? [text.estimate.aStep(milliseconds(estimate.step_ms)),
      about(duration(estimate.total_seconds))] : [text.estimate.timeUnknown]),
  ].join(" \u00b7 "));
  fill(byId("estimate-facts"), facts([
    [text.estimate.memory, bytes(estimate.total_bytes)],
    [text.estimate.step, timed ? about(milliseconds(estimate.step_ms)) : unknown],
    [text.estimate.total, timed ? about(duration(estimate.total_seconds)) : unknown],
    [text.estimate.perStep, number(estimate.tokens_per_step)],
  ]));
  const parts = Object.entries(estimate.memory);
  byId("estimate-memory-heading").hidden = parts.length === 0;
  fill(byId("estimate-memory"), facts(parts.map(([name, size]) =>
    [text.estimate.memoryNames[name] ?? name.replaceAll("_", " "), bytes(size)])));
}

/** @param {import("./client.js").Client} client */
export function setUpEstimate(client) {
  const home = byId("estimate");
  let timer = 0;
  let asked = 0;
  const ask = async () => {
    asked += 1;
    const mine = asked;
    try {
      const estimate = await client.command("estimate", { settings: model.settings });
      if (mine !== asked) return;
      clearProblem(home);
      draw(estimate);
    } catch (reason) {
      if (mine === asked && model.phase === "ready") showProblem(reason, home);
    }
  };
  watch((m) => [m.settings, m.phase], () => {
    if (model.phase !== "ready" || !model.settings) return;
    clearTimeout(timer);
    timer = setTimeout(ask, DELAY_MS);
  });
}
