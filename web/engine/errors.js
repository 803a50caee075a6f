// Errors of the engine: what was expected, what came, and what to do.

/**
 * @typedef {{code: string, message: string, expected?: string | null, received?: string | null,
 *   remedy?: string | null, control?: string | null, detail?: string | null}} Problem
 */

/** A request that could not be answered. `code` says which kind of problem it is: "download",
 * "storage", "checkpoint", "settings", "no-adapter", "device-lost", "out-of-memory", "cancelled",
 * "crashed", "closed" or "fault". */
export class EngineError extends Error {
  /** @param {Problem} problem */
  constructor(problem) {
    const { message, expected, received, remedy } = problem;
    super([message, expected && `Expected: ${expected}.`, received && `Received: ${received}.`,
      remedy].filter(Boolean).join(" "));
    this.name = "EngineError";
    this.code = problem.code;
    this.expected = expected ?? null;
    this.received = received ?? null;
    this.remedy = remedy ?? null;
    /** The setting that is wrong, under the name that the engine's caller gave it. */
    this.param = problem.control ?? null;
    this.detail = problem.detail ?? null;
  }
}

/** What an aborted request rejects with, as `fetch` does. */
export function abortError() {
  return new DOMException("The request was aborted.", "AbortError");
}
