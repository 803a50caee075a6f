/** The two pictures of a run, that of Train and that of Fine-tune: the same, but for these. */

import { loss, number } from "./format.js";
import { model } from "./model.js";
import { text } from "./strings.js";
import { baseline, vocabulary } from "./vocabulary.js";

/**
 * `prefix` begins the ids of its elements; `names` says what the model chooses among; `baseline`
 * is the loss that the curve is held against, with words for it, or null while it is not known;
 * `fromZero` says whether the scale of losses begins at 0: losses that begin and end high would
 * waste most of it.
 * @typedef {{prefix: string, place: string, live: () => import("./model.js").Live,
 *   fromZero: boolean, names: () => {one: string, many: string},
 *   baseline: () => {value: number, words: string} | null}} Picture
 */

/** @type {Picture} */
export const TRAIN = {
  prefix: "",
  place: "train",
  live: () => model.live,
  fromZero: true,
  names: vocabulary,
  baseline() {
    const { size, many } = vocabulary();
    const value = baseline();
    return { value, words: text.chart.baseline(loss(value), number(size), many) };
  },
};

/** @type {Picture} */
export const TUNE = {
  prefix: "finetune-",
  place: "finetune",
  live: () => model.tune.live,
  fromZero: false,
  names: () => text.finetune.tokens,
  baseline() {
    const [first] = model.tune.live.history.validation;
    if (first?.step !== 0) return null;
    return { value: first.loss, words: text.finetune.baseline(loss(first.loss)) };
  },
};
