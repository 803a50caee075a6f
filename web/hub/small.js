// Files that fit into memory, and the first bytes of those that do not.

import { HubFailure } from "./failure.js";
import { ask, looksLikeHtml, persist, pieces, validator, wholeSize } from "./request.js";

/**
 * All bytes of a small file.
 * @param {string} url
 * @param {number} limit most bytes that it may have
 * @param {string} headers JSON
 * @param {AbortSignal} signal
 * @returns {Promise<Uint8Array>}
 */
export async function fetchSmall(url, limit, headers, signal) {
  const asking = { headers: JSON.parse(headers), signal };
  return persist(signal, async () => {
    const response = await ask(url, asking, null);
    const data = await take(response, limit + 1, signal);
    if (data.byteLength > limit) {
      throw new HubFailure("WrongSize", { expected: `at most ${limit} bytes`,
        received: `${wholeSize(response) ?? "more"} bytes` });
    }
    const size = wholeSize(response);
    if (size !== null && data.byteLength < size) {
      throw new HubFailure("Truncated", { expected: `${size} bytes`,
        received: `${data.byteLength}`, again: true });
    }
    if (looksLikeHtml(data)) throw new HubFailure("WebPage");
    return data;
  });
}

/**
 * The first bytes of a file, and what the host says of all of it.
 * @param {string} url
 * @param {number} length how many; fewer come when the file is shorter
 * @param {string} headers JSON
 * @param {AbortSignal} signal
 * @returns {Promise<{ data: Uint8Array, size: number | undefined, etag: string | undefined }>}
 *   undefined, not null: in Python that is None
 */
export async function fetchStart(url, length, headers, signal) {
  const asking = { headers: JSON.parse(headers), signal };
  return persist(signal, async () => {
    const response = await ask(url, asking, [0, length]);
    if (response.status === 416) return { data: new Uint8Array(0), size: 0, etag: undefined };
    const data = await take(response, length, signal);
    if (looksLikeHtml(data)) throw new HubFailure("WebPage");
    const size = wholeSize(response) ?? (await headSize(url, asking));
    if (data.byteLength < Math.min(length, size ?? 0)) {
      throw new HubFailure("Truncated", { expected: `${length} bytes`,
        received: `${data.byteLength}`, again: true });
    }
    return { data, size: size ?? undefined, etag: validator(response) ?? undefined };
  });
}

/**
 * The length of a file from a HEAD request: where a page may not see Content-Range, it may still
 * see Content-Length.
 * @param {string} url
 * @param {import("./request.js").Asking} asking
 */
export async function headSize(url, asking) {
  return wholeSize(await ask(url, asking, null, "HEAD"));
}

/**
 * At most `length` bytes of a body; the rest is not fetched.
 * @param {Response} response
 * @param {number} length
 * @param {AbortSignal} signal
 */
async function take(response, length, signal) {
  const parts = [];
  let have = 0;
  for await (const piece of pieces(response, signal)) {
    parts.push(piece.subarray(0, length - have));
    have += parts[parts.length - 1].byteLength;
    if (have === length) break;
  }
  const data = new Uint8Array(have);
  let at = 0;
  for (const part of parts) {
    data.set(part, at);
    at += part.byteLength;
  }
  return data;
}
