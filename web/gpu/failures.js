// Errors of the GPU: WebGPU reports them later, on scopes; here each one keeps its label.

/** @typedef {"NoAdapter" | "DeviceLost" | "OutOfMemory" | "KernelError"} FailureKind */

/** How long a rejected promise waits to learn whether the device was lost. */
const LOSS_WAIT_MS = 2000;

/** An error with the name of the class that Python raises for it. */
export class GpuFailure extends Error {
  /**
   * @param {FailureKind} kind
   * @param {string} label the kernel with its sizes, or the buffer
   * @param {string} detail what the GPU said
   */
  constructor(kind, label, detail) {
    super(`${label}: ${detail}`);
    this.name = kind;
    this.label = label;
    this.detail = detail;
  }
}

/** The failures of one device, kept until somebody waits for the work they belong to. */
export class Failures {
  /** @param {GPUDevice} device */
  constructor(device) {
    this.device = device;
    /** @type {GpuFailure | null} */
    this.lost = null;
    /** @type {GpuFailure | null} */
    this.first = null;
    /** @type {Set<Promise<void>>} */
    this.open = new Set();
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      this.keep(event.error, "a command");
    });
  }

  /**
   * Keeps the first failure; the ones behind it mostly follow from it.
   * @param {GPUError} error
   * @param {string} label
   */
  keep(error, label) {
    const kind = error instanceof GPUOutOfMemoryError ? "OutOfMemory" : "KernelError";
    this.first ??= new GpuFailure(kind, label, error.message);
  }

  /** Throws when the device is gone. */
  check() {
    if (this.lost) throw this.lost;
  }

  /**
   * Runs `make` inside error scopes.
   * @template T
   * @param {string} label
   * @param {GPUErrorFilter[]} filters
   * @param {() => T} make
   * @returns {T}
   */
  scoped(label, filters, make) {
    for (const filter of filters) this.device.pushErrorScope(filter);
    try {
      return make();
    } finally {
      for (let i = 0; i < filters.length; i += 1) {
        const closing = this.device.popErrorScope().then(
          (error) => {
            if (error) this.keep(error, label);
          },
          // Only a lost device rejects here; `settle` reports the loss.
          () => undefined,
        ).finally(() => this.open.delete(closing));
        this.open.add(closing);
      }
    }
  }

  /** Waits for the open scopes and throws what they caught. */
  async settle() {
    while (this.open.size) await Promise.all(this.open);
    this.check();
    if (this.first) {
      const failure = this.first;
      this.first = null;
      throw failure;
    }
  }

  /**
   * What a rejected promise of the device means: a loss, if there was one.
   * @param {unknown} error
   * @param {string} label
   * @returns {Promise<GpuFailure>}
   */
  async explain(error, label) {
    if (error instanceof GpuFailure) return error;
    // The rejection may come before the loss is announced.
    await Promise.race([
      this.device.lost,
      new Promise((resolve) => setTimeout(resolve, LOSS_WAIT_MS)),
    ]);
    if (this.lost) return this.lost;
    return new GpuFailure("KernelError", label, error instanceof Error ? error.message
      : String(error));
  }
}
