/**
 * The losses of one run: what came, thinned for drawing, as a table, and what it means.
 * Pure: no document, no clock.
 */

import { Points } from "./points.js";

/** @typedef {import("./types.js").Point} Point */
/** @typedef {import("./types.js").ValidationPoint} ValidationPoint */

const RISE = 1.01;

/**
 * Drops what a resumed run is about to repeat, then appends.
 * @template {{step: number}} P
 * @param {P[]} kept
 * @param {P[]} fresh in order of step
 */
function extend(kept, fresh) {
  if (fresh.length === 0) return;
  while (kept.length > 0 && kept[kept.length - 1].step >= fresh[0].step) kept.pop();
  kept.push(...fresh);
}

/**
 * Indices of at most about `limit` points, with the lowest and the highest of each stretch, so
 * that a thinned curve shows every peak of the full one.
 * @param {number} count
 * @param {number} limit
 * @param {(index: number) => number} loss
 * @returns {number[]}
 */
function peaks(count, limit, loss) {
  if (count <= limit) return Array.from({ length: count }, (_, i) => i);
  const stretch = Math.ceil((2 * count) / limit);
  const kept = [0];
  for (let start = 1; start < count - 1; start += stretch) {
    const end = Math.min(count - 1, start + stretch);
    let low = start;
    let high = start;
    for (let i = start + 1; i < end; i += 1) {
      if (loss(i) < loss(low)) low = i;
      if (loss(i) > loss(high)) high = i;
    }
    kept.push(Math.min(low, high));
    if (low !== high) kept.push(Math.max(low, high));
  }
  kept.push(count - 1);
  return kept;
}

/**
 * At most about `limit` points, with every peak.
 * @template {{step: number, loss: number}} P
 * @param {P[]} points
 * @param {number} limit
 * @returns {P[]}
 */
export function thin(points, limit) {
  return peaks(points.length, limit, (i) => points[i].loss).map((i) => points[i]);
}

/**
 * Both series on one axis, as uPlot wants them; null where a series has no point.
 * @param {{step: number, loss: number}[]} train
 * @param {{step: number, loss: number}[]} validation
 * @returns {[number[], (number | null)[], (number | null)[]]}
 */
export function align(train, validation) {
  /** @type {[number[], (number | null)[], (number | null)[]]} */
  const rows = [[], [], []];
  let i = 0;
  let j = 0;
  while (i < train.length || j < validation.length) {
    const step = Math.min(train[i]?.step ?? Infinity, validation[j]?.step ?? Infinity);
    rows[0].push(step);
    rows[1].push(train[i]?.step === step ? train[i++].loss : null);
    rows[2].push(validation[j]?.step === step ? validation[j++].loss : null);
  }
  return rows;
}

export class LossHistory {
  constructor() {
    this.train = new Points();
    /** @type {ValidationPoint[]} */
    this.validation = [];
  }

  /** @param {Point[]} points */
  add(points) {
    this.train.add(points);
  }

  /** @param {ValidationPoint[]} points */
  addValidation(points) {
    extend(this.validation, points);
  }

  /**
   * At most about `limit` training points, with every peak.
   * @param {number} limit
   * @returns {Point[]}
   */
  thinTrain(limit) {
    const { train } = this;
    return peaks(train.length, limit, (i) => train.loss(i))
      .map((i) => /** @type {Point} */ (train.at(i)));
  }

  /**
   * For the chart, thinned.
   * @param {number} limit
   */
  aligned(limit) {
    return align(this.thinTrain(limit), thin(this.validation, limit));
  }

  /**
   * The best validation loss and whether the model has begun to memorise: validation has
   * stayed above its best for the last two readings while the training loss fell.
   * @returns {{best: ValidationPoint, last: ValidationPoint, parted: boolean} | null}
   */
  verdict() {
    if (this.validation.length === 0) return null;
    let at = 0;
    this.validation.forEach((point, i) => {
      if (point.loss < this.validation[at].loss) at = i;
    });
    const best = this.validation[at];
    const last = this.validation[this.validation.length - 1];
    const since = this.validation.slice(at + 1);
    const rising = since.length >= 2 && since.slice(-2).every((p) => p.loss > best.loss * RISE);
    const falling = rising && this.#trainNear(last.step) < this.#trainNear(best.step);
    return { best, last, parted: falling };
  }

  /**
   * Mean training loss of the sixteen points up to a step.
   * @param {number} step
   */
  #trainNear(step) {
    let end = this.train.length;
    while (end > 0 && this.train.step(end - 1) > step) end -= 1;
    const start = Math.max(0, end - 16);
    let sum = 0;
    for (let i = start; i < end; i += 1) sum += this.train.loss(i);
    return sum / Math.max(1, end - start);
  }

  /** Every point, as comma-separated values. */
  toCsv() {
    const lines = ["step,train_loss,learning_rate,grad_norm,validation_loss"];
    let j = 0;
    for (const point of this.train) {
      for (; j < this.validation.length && this.validation[j].step < point.step; j += 1) {
        lines.push(`${this.validation[j].step},,,,${this.validation[j].loss}`);
      }
      const here = this.validation[j]?.step === point.step ? this.validation[j++].loss : "";
      lines.push([point.step, point.loss, point.learning_rate, point.grad_norm, here].join(","));
    }
    for (; j < this.validation.length; j += 1) {
      lines.push(`${this.validation[j].step},,,,${this.validation[j].loss}`);
    }
    return `${lines.join("\n")}\n`;
  }
}
