// The way back: a ring of mappable buffers, and waiting that is quick in every browser.

/** Idle buffers that stay; more exist only while more readbacks are on their way. */
const RING = 4;
/** No staging buffer is smaller: batches of a few more tokens need no new one. */
const LEAST_BYTES = 8192;
/** Readbacks slower than this on an idle queue come from a browser that polls. */
const SLOW_MS = 15;
/** Time between two nudges. */
const NUDGE_MS = 3;

export class Staging {
  /**
   * @param {GPUDevice} device
   * @param {import("./failures.js").Failures} failures
   * @param {Record<string, number>} counters
   */
  constructor(device, failures, counters) {
    this.device = device;
    this.failures = failures;
    this.counters = counters;
    this.nudge = false;
    /** @type {GPUBuffer[]} */
    this.idle = [];
  }

  /**
   * A mappable buffer of at least `size` bytes.
   * @param {number} size
   */
  take(size) {
    const fits = this.idle.filter((buffer) => buffer.size >= size)
      .sort((a, b) => a.size - b.size);
    const found = fits[0];
    if (found) {
      this.idle.splice(this.idle.indexOf(found), 1);
      return found;
    }
    const made = Math.max(size, LEAST_BYTES);
    this.counters.buffers += 1;
    this.counters.live_buffers += 1;
    this.counters.bytes += made;
    return this.failures.scoped("staging", ["validation", "out-of-memory"], () =>
      this.device.createBuffer({
        label: "staging", size: made, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
      }));
  }

  /** @param {GPUBuffer} buffer */
  give(buffer) {
    this.idle.push(buffer);
    while (this.idle.length > RING) {
      const smallest = this.idle.reduce((a, b) => (b.size < a.size ? b : a));
      this.idle.splice(this.idle.indexOf(smallest), 1);
      this.counters.live_buffers -= 1;
      this.counters.bytes -= smallest.size;
      smallest.destroy();
    }
  }

  /**
   * The first bytes of a staging buffer once the GPU has written them; the buffer is free again.
   * @param {GPUBuffer} buffer
   * @param {number} size
   * @returns {Promise<Uint8Array>}
   */
  async fetch(buffer, size) {
    try {
      await this.until(buffer.mapAsync(GPUMapMode.READ, 0, size));
      const bytes = new Uint8Array(buffer.getMappedRange(0, size)).slice();
      buffer.unmap();
      await this.failures.settle();
      this.give(buffer);
      return bytes;
    } catch (error) {
      throw await this.failures.explain(error, "readback");
    }
  }

  /** Until all submitted work is through. */
  async drained() {
    try {
      await this.until(this.device.queue.onSubmittedWorkDone());
      await this.failures.settle();
    } catch (error) {
      throw await this.failures.explain(error, "queue");
    }
  }

  /**
   * Waits for a promise of the device. Some browsers look for finished work only every 100 ms,
   * unless something is submitted: there we submit nothing, often.
   * @param {Promise<unknown>} promise
   */
  async until(promise) {
    if (!this.nudge) {
      await promise;
      return;
    }
    let waiting = true;
    const done = promise.finally(() => {
      waiting = false;
    });
    // `done` is awaited below; this only keeps an early rejection from counting as unhandled.
    done.catch(() => undefined);
    while (waiting) {
      this.device.queue.submit([]);
      await Promise.race([done.catch(() => undefined),
        new Promise((resolve) => setTimeout(resolve, NUDGE_MS))]);
    }
    await done;
  }

  /** Finds out by the clock whether nudging helps here. */
  async calibrate() {
    // Its end is one of the browser's looks, if it polls: only from there on is a wait a whole one.
    await this.wait();
    const plain = await this.shortest();
    if (plain < SLOW_MS) return;
    this.nudge = true;
    const nudged = await this.shortest();
    this.nudge = nudged < plain / 2;
  }

  /** The shortest of three waits on an idle queue, in milliseconds. */
  async shortest() {
    return Math.min(await this.wait(), await this.wait(), await this.wait());
  }

  /** One readback of nothing much, in milliseconds. */
  async wait() {
    const buffer = this.take(4);
    const encoder = this.device.createCommandEncoder({ label: "calibrate" });
    encoder.clearBuffer(buffer, 0, 4);
    const start = performance.now();
    this.device.queue.submit([encoder.finish()]);
    await this.fetch(buffer, 4);
    return performance.now() - start;
  }
}
