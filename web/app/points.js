/**
 * The training points of a run. One array of numbers, 32 bytes a point: a long run must not make
 * the page's heap grow by an object for each step.
 */

/** @typedef {import("./types.js").Point} Point */

const COLUMNS = 4;
const ROOM = 1024;

export class Points {
  #numbers = new Float64Array(COLUMNS * ROOM);
  length = 0;

  /**
   * Appends, after dropping what a resumed run repeats.
   * @param {Point[]} fresh in order of step
   */
  add(fresh) {
    if (fresh.length === 0) return;
    while (this.length > 0 && this.step(this.length - 1) >= fresh[0].step) this.length -= 1;
    this.#makeRoom(this.length + fresh.length);
    for (const { step, loss, learning_rate, grad_norm } of fresh) {
      this.#numbers.set([step, loss, learning_rate, grad_norm], COLUMNS * this.length);
      this.length += 1;
    }
  }

  /** @param {number} index */
  step(index) {
    return this.#numbers[COLUMNS * index];
  }

  /** @param {number} index */
  loss(index) {
    return this.#numbers[COLUMNS * index + 1];
  }

  /**
   * As an array's `at`: counted from the end when negative, undefined outside.
   * @param {number} index
   * @returns {Point | undefined}
   */
  at(index) {
    const place = index < 0 ? this.length + index : index;
    if (place < 0 || place >= this.length) return undefined;
    const [step, loss, learning_rate, grad_norm] = this.#numbers.subarray(
      COLUMNS * place, COLUMNS * (place + 1));
    return { step, loss, learning_rate, grad_norm };
  }

  /** @returns {Generator<Point>} */
  *[Symbol.iterator]() {
    for (let i = 0; i < this.length; i += 1) yield /** @type {Point} */ (this.at(i));
  }

  /** @param {number} points */
  #makeRoom(points) {
    if (COLUMNS * points <= this.#numbers.length) return;
    const larger = new Float64Array(Math.max(COLUMNS * points, 2 * this.#numbers.length));
    larger.set(this.#numbers.subarray(0, COLUMNS * this.length));
    this.#numbers = larger;
  }
}
