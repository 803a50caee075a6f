/** What the model in sight chooses among: 256 bytes, or the words of its preset. */

import { model } from "./model.js";
import { text } from "./strings.js";

const BYTES = 256;

/** @returns {{size: number, many: string, one: string}} how many, and their names */
export function vocabulary() {
  const preset = model.presets.find((known) => known.name === model.live.run?.preset);
  const names = preset?.corpus ? text.chart.ofWords : text.chart.ofBytes;
  return { size: preset?.vocab_size ?? BYTES, ...names };
}

/** Nats that guessing costs when all are equally likely. */
export function baseline() {
  return Math.log(vocabulary().size);
}
