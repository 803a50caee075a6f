/** What a model chooses among: 256 bytes, the words of its preset, or tokens that it learned. */

import { model } from "./model.js";
import { text } from "./strings.js";

const BYTES = 256;

/**
 * How many a preset chooses among, and their names; without a preset they are bytes.
 * @param {import("./types.js").Preset | undefined} preset
 * @returns {{size: number, many: string, one: string}}
 */
export function vocabularyOf(preset) {
  const size = preset?.vocab_size ?? BYTES;
  if (preset?.corpus) return { size, ...text.chart.ofWords };
  return { size, ...(size > BYTES ? text.chart.ofTokens : text.chart.ofBytes) };
}

/** That of the run in the picture. */
export function vocabulary() {
  return vocabularyOf(model.presets.find((known) => known.name === model.live.run?.preset));
}

/** Nats that guessing costs when all are equally likely. */
export function baseline() {
  return Math.log(vocabulary().size);
}
