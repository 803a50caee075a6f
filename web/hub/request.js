// One request to a host that we know nothing of: what its answer means, when to ask again.

import { HubFailure } from "./failure.js";

/** Times that a test may shorten. */
export const limits = { retryMs: 400, stallMs: 30_000 };
/** Tries in a row that brought no byte. */
const TRIES = 5;
const LONGEST_WAIT_MS = 30_000;
/** Answers after which a later try can go well. */
const PASSING = new Set([408, 425, 429]);

/** @typedef {{ headers: Record<string, string>, signal: AbortSignal }} Asking */

/**
 * Asks for a file, or for the bytes [start, end) of it.
 * @param {string} url
 * @param {Asking} asking
 * @param {[start: number, end: number] | null} range
 * @param {string} [method]
 * @returns {Promise<Response>} 200, 206 or 416, and no web page
 */
export async function ask(url, { headers, signal }, range, method = "GET") {
  const response = await reach(url, {
    method, signal, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer",
    headers: range ? { ...headers, Range: `bytes=${range[0]}-${range[1] - 1}` } : headers,
  });
  const { status } = response;
  if (status === 416 && range) return response;
  const received = `HTTP ${status}`;
  if (status === 404 || status === 410) throw new HubFailure("NotFound", { received });
  if (status === 401 || status === 403) throw new HubFailure("Forbidden", { received });
  if (!response.ok) {
    const seconds = Number(response.headers.get("Retry-After"));
    throw new HubFailure("Status", { received, again: PASSING.has(status) || status >= 500,
      afterMs: seconds > 0 ? Math.min(seconds * 1000, LONGEST_WAIT_MS) : undefined });
  }
  const type = response.headers.get("Content-Type") ?? "";
  if (/^(text\/html|application\/xhtml)/i.test(type)) {
    throw new HubFailure("WebPage", { received: type });
  }
  return response;
}

/**
 * `fetch`, with its one error told apart: no network, or a host that pages may not read.
 * @param {string} url
 * @param {RequestInit & { signal: AbortSignal }} init
 */
async function reach(url, init) {
  try {
    return await answerInTime(url, init);
  } catch (error) {
    throwIfCancelled(init.signal);
    if (error instanceof HubFailure) throw error;
    const received = String(error instanceof Error ? error.message : error);
    if (!(await answers(url, init.signal))) {
      throw new HubFailure("Network", { received, again: true });
    }
  }
  try {
    return await answerInTime(url, init);
  } catch (error) {
    throwIfCancelled(init.signal);
    if (error instanceof HubFailure) throw error;
    throw new HubFailure("Cors", { received: "no Access-Control-Allow-Origin for this page" });
  }
}

/**
 * `fetch`, but a host that does not begin to answer is a failure.
 * @param {string} url
 * @param {RequestInit & { signal: AbortSignal }} init
 */
async function answerInTime(url, init) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), limits.stallMs);
  try {
    return await fetch(url, { ...init, signal: AbortSignal.any([init.signal, late.signal]) });
  } catch (error) {
    if (!late.signal.aborted || init.signal.aborted) throw error;
    throw new HubFailure("Network", { received: "no answer for a while", again: true });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Whether a host answers at all, to a request whose answer we may not read.
 * @param {string} url
 * @param {AbortSignal} signal
 */
async function answers(url, signal) {
  try {
    await answerInTime(url, { method: "HEAD", mode: "no-cors", cache: "no-store",
      credentials: "omit", referrerPolicy: "no-referrer", signal });
    return true;
  } catch {
    return false;
  }
}

/** @param {AbortSignal} signal */
export function throwIfCancelled(signal) {
  if (signal.aborted) throw new HubFailure("Cancelled");
}

/**
 * The pieces of a body as they come; a connection that falls silent or breaks is a failure after
 * which it is worth while to ask again.
 * @param {Response} response
 * @param {AbortSignal} signal
 */
export async function* pieces(response, signal) {
  if (!response.body) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await next(reader, signal);
      if (done) return;
      yield value;
    }
  } finally {
    // Not awaited: a broken connection may never answer, and there is nothing left to learn.
    reader.cancel().catch(() => undefined);
  }
}

/**
 * @param {ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>} reader
 * @param {AbortSignal} signal
 */
async function next(reader, signal) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const stalled = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new HubFailure("Network",
      { received: "no byte for a while", again: true })), limits.stallMs);
  });
  try {
    return await /** @type {Promise<ReadableStreamReadResult<Uint8Array<ArrayBuffer>>>} */ (
      Promise.race([reader.read(), stalled]));
  } catch (error) {
    throwIfCancelled(signal);
    if (error instanceof HubFailure) throw error;
    throw new HubFailure("Network", { received: "a connection that broke", again: true });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Tries again, later and later, for as long as a try brings something.
 * @template T
 * @param {AbortSignal} signal
 * @param {() => Promise<T>} attempt
 * @param {() => number} [gained] bytes so far: a try that brought some is not counted
 * @returns {Promise<T>}
 */
export async function persist(signal, attempt, gained = () => 0) {
  let had = gained();
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof HubFailure) || !error.again) throw error;
      if (gained() > had) {
        had = gained();
        tries = 1;
      }
      if (tries === TRIES) throw error;
      await pause(error.afterMs ?? limits.retryMs * 2 ** (tries - 1), signal);
    }
  }
}

/**
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 */
async function pause(milliseconds, signal) {
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve(undefined);
    }, { once: true });
  });
  throwIfCancelled(signal);
}

/**
 * The length of the whole file, as far as an answer says it.
 * @param {Response} response
 * @returns {number | null}
 */
export function wholeSize(response) {
  const range = /\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "");
  if (range) return Number(range[1]);
  if (response.status === 206 || response.headers.get("Content-Encoding")) return null;
  const length = response.headers.get("Content-Length");
  return length === null ? null : Number(length);
}

/**
 * What stays the same as long as a file does: its ETag, else its date; null if neither can be
 * seen. A weak ETag promises no equal bytes.
 * @param {Response} response
 */
export function validator(response) {
  const etag = response.headers.get("ETag");
  return etag !== null && !etag.startsWith("W/") ? etag : response.headers.get("Last-Modified");
}

/**
 * Whether a file begins as a web page does.
 * @param {Uint8Array} start
 */
export function looksLikeHtml(start) {
  const text = new TextDecoder("latin1").decode(start.subarray(0, 512)).trimStart().toLowerCase();
  return text.startsWith("<!doctype") || text.startsWith("<html");
}
