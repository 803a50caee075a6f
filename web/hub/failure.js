// What can go wrong on the way from a host to a file. tabgrad/platform/transfer.py has the words.

/** @typedef {"Busy" | "Cancelled" | "Changed" | "Cors" | "Forbidden" | "Network" | "NotFound"
 *   | "Quota" | "Status" | "Truncated" | "WebPage" | "WrongHash" | "WrongSize"} FailureKind */

export class HubFailure extends Error {
  /**
   * @param {FailureKind} kind
   * @param {{ expected?: string, received?: string, again?: boolean, afterMs?: number }} [facts]
   *   `again`: trying once more may help; `afterMs`: not before so long
   */
  constructor(kind, { expected = "", received = "", again = false, afterMs } = {}) {
    super(received || kind);
    this.name = kind;
    this.expected = expected;
    this.received = received;
    this.again = again;
    this.afterMs = afterMs;
  }
}

/**
 * What a file threw, as a failure of a transfer where it is one.
 * @param {unknown} error
 */
export function fileFailure(error) {
  if (!(error instanceof DOMException)) return error;
  if (error.name === "QuotaExceededError") {
    return new HubFailure("Quota", { received: error.message });
  }
  if (error.name === "NoModificationAllowedError") return new HubFailure("Busy");
  return error;
}
