// Errors of the engine: what was expected, what came, and what to do.

/**
 * @typedef {{code: string, message: string, expected?: string | null, received?: string | null,
 *   remedy?: string | null, control?: string | null, detail?: string | null}} Problem
 */

/** A request that could not be answered. `code` says which kind of problem it is; docs/engine.md
 * lists them. */
export class EngineError extends Error {
  /** @param {Problem} problem */
  constructor(problem) {
    const { message, expected, received, remedy } = problem;
    super([message, expected && `Expected: ${expected}.`, received && `Received: ${received}.`,
      remedy].filter(Boolean).join(" "));
    this.name = "EngineError";
    this.code = problem.code;
    /** What would have been right. */
    this.expected = problem.expected ?? null;
    /** What came instead. */
    this.received = problem.received ?? null;
    /** What to do about it. */
    this.remedy = problem.remedy ?? null;
    /** The field of the request that is wrong. */
    this.param = problem.control ?? null;
    /** For whoever mends tabgrad. */
    this.detail = problem.detail ?? null;
  }
}

/**
 * A field of a request that is wrong.
 * @param {string} param
 * @param {string} message
 * @param {Partial<Problem>} [more]
 */
export function wrongField(param, message, more = {}) {
  return new EngineError({ code: "settings", message, control: param, ...more });
}
