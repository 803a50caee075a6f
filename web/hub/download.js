// A file of a host becomes a file of OPFS: concurrent ranges, checked, resumed after a kill.

import { HubFailure } from "./failure.js";
import { FollowingHash, newHash } from "./hash.js";
import { CHUNK_BYTES, PartFile } from "./part_file.js";
import { ask, looksLikeHtml, persist, pieces, throwIfCancelled, validator, wholeSize }
  from "./request.js";
import { headSize } from "./small.js";
import { checkQuota, Teller } from "./space.js";

const AT_ONCE = 4;
/** Failures after which what has come is of no use, or in the way. */
const HOPELESS = new Set(["Changed", "Quota", "Truncated", "WebPage", "WrongHash", "WrongSize"]);

/** @typedef {{ url: string, path: string, size: number | null, sha256: string | null,
 *   headers: Record<string, string> }} Wanted */
/** @typedef {(done: number, total: number) => void} Progress */

/**
 * Downloads one file; goes on where an earlier download of the same file stopped.
 * @param {import("../opfs.js").Files} files
 * @param {string} text JSON of a Wanted
 * @param {Progress | null} progress
 * @param {AbortSignal} signal
 * @returns {Promise<string>} JSON: size, etag, sha256
 */
export async function download(files, text, progress, signal) {
  const part = await PartFile.open(files, JSON.parse(text).path);
  const task = new Task(JSON.parse(text), part, new Teller(progress), signal,
    new FollowingHash(part.data, await newHash()));
  let result;
  try {
    result = await task.run();
  } catch (error) {
    await task.hash.stop();
    part.close();
    const hopeless = error instanceof HubFailure && HOPELESS.has(error.name);
    if (hopeless || part.bytes === 0) await part.discard();
    throw error;
  }
  part.close();
  await part.moveIntoPlace();
  return JSON.stringify(result);
}

class Task {
  /**
   * @param {Wanted} wanted
   * @param {PartFile} part
   * @param {Teller} teller
   * @param {AbortSignal} signal
   * @param {FollowingHash} hash
   */
  constructor(wanted, part, teller, signal, hash) {
    this.wanted = wanted;
    this.part = part;
    this.teller = teller;
    this.hash = hash;
    this.outer = signal;
    // One range that fails for good stops the others.
    this.stop = new AbortController();
    this.signal = AbortSignal.any([signal, this.stop.signal]);
    this.came = 0;  // bytes of pieces that are not whole yet
  }

  async run() {
    throwIfCancelled(this.outer);
    if (!this.isOurs() || this.part.missing.length > 0) await this.fetchMissing();
    const { size, validator: etag } = /** @type {import("./part_file.js").Identity} */ (
      this.part.identity);
    const sha256 = await this.hash.finish(size);
    const { sha256: expected } = this.wanted;
    if (expected !== null && sha256 !== expected) {
      throw new HubFailure("WrongHash", { expected, received: sha256 });
    }
    this.teller.tell(size, size, true);
    return { size, etag, sha256 };
  }

  /** Whether what is here surely belongs to the file that is wanted. */
  isOurs() {
    const { identity } = this.part;
    if (!identity) return false;
    const { url, size, sha256 } = this.wanted;
    if (size !== null && size !== identity.size) return false;
    return sha256 !== null ? sha256 === identity.sha256
      : url === identity.url && identity.validator !== null;
  }

  async fetchMissing() {
    const first = await this.firstAnswer();
    this.hash.advance(this.part.prefix);
    this.tellBytes();
    if (this.part.size === 0) return;
    if (first.status === 200) await this.stream(first);
    else await this.ranges(first);
  }

  /**
   * The first answer tells what there is to fetch, and whether what is here goes with it.
   * @returns {Promise<Response>}
   */
  async firstAnswer() {
    const start = this.isOurs() ? this.part.range(this.part.missing[0])[0] : 0;
    const answer = await this.range([start, start + CHUNK_BYTES]);
    const size = await this.totalSize(answer, start);
    if (start > 0) {
      if (answer.status === 206 && this.sameFile(answer, size)) return answer;
      await answer.body?.cancel();
      this.part.identity = null;
      return this.firstAnswer();
    }
    if (!this.isOurs() || answer.status !== 206 || !this.sameFile(answer, size)) {
      await checkQuota(size, this.part.data.getSize());
      this.part.begin({ url: this.wanted.url, size, validator: validator(answer),
        sha256: this.wanted.sha256, chunk: CHUNK_BYTES });
    }
    return answer;
  }

  /** @param {[start: number, end: number]} range */
  range(range) {
    return persist(this.signal, () =>
      ask(this.wanted.url, { headers: this.wanted.headers, signal: this.signal }, range));
  }

  /**
   * @param {Response} answer
   * @param {number} start
   */
  async totalSize(answer, start) {
    const { url, headers, size: expected } = this.wanted;
    let size = wholeSize(answer) ?? expected;
    if (answer.status === 416) size ??= start;
    size ??= await headSize(url, { headers, signal: this.signal });
    if (size === null) {
      throw new HubFailure("WrongSize", { expected: "a host that tells how long the file is",
        received: "no length" });
    }
    if (expected !== null && size !== expected) {
      throw new HubFailure("WrongSize", { expected: `${expected} bytes`,
        received: `${size} bytes` });
    }
    return size;
  }

  /**
   * @param {Response} answer
   * @param {number | null} size
   */
  sameFile(answer, size) {
    const { identity } = this.part;
    const now = validator(answer);
    return identity !== null && (size === null || size === identity.size)
      && (now === null || identity.validator === null || now === identity.validator);
  }

  /** @param {Response} first the answer for the first piece that is missing */
  async ranges(first) {
    const queue = this.part.missing;
    /** @type {Response | undefined} */
    let answer = first;
    const lane = async () => {
      for (let index = queue.shift(); index !== undefined; index = queue.shift()) {
        const given = answer;
        answer = undefined;
        await this.chunk(index, given);
      }
    };
    const lanes = Array.from({ length: AT_ONCE }, lane);
    try {
      await Promise.all(lanes);
    } catch (error) {
      this.stop.abort();
      await Promise.allSettled(lanes);
      throw this.outer.aborted ? new HubFailure("Cancelled") : error;
    }
  }

  /**
   * One piece, in as many requests as it takes.
   * @param {number} index
   * @param {Response} [given]
   */
  async chunk(index, given) {
    const [start, end] = this.part.range(index);
    const place = { at: start, end };
    let answer = given;
    await persist(this.signal, async () => {
      const response = answer ?? await this.range([place.at, end]);
      answer = undefined;
      if (response.status !== 206 || !this.sameFile(response, wholeSize(response))) {
        await response.body?.cancel();
        throw new HubFailure(response.status === 416 ? "Truncated" : "Changed",
          { received: `HTTP ${response.status}` });
      }
      await this.body(response, place);
    }, () => place.at);
    this.part.finished(index);
    this.came -= end - start;
    this.hash.advance(this.part.prefix);
  }

  /**
   * The whole file in one answer, from a host that knows no ranges. If it breaks it begins anew.
   * @param {Response} first
   */
  async stream(first) {
    /** @type {Response | undefined} */
    let answer = first;
    await persist(this.signal, async () => {
      const response = answer ?? await ask(this.wanted.url,
        { headers: this.wanted.headers, signal: this.signal }, null);
      answer = undefined;
      if (!this.sameFile(response, wholeSize(response))) throw new HubFailure("Changed");
      this.came = 0;
      await this.body(response, { at: 0, end: this.part.size });
    });
    for (const index of this.part.missing) this.part.finished(index);
    this.came = 0;
  }

  /**
   * Writes a body to its place, which moves on as bytes come.
   * @param {Response} response
   * @param {{ at: number, end: number }} place
   */
  async body(response, place) {
    const start = place.at;
    for await (const piece of pieces(response, this.signal)) {
      if (place.at === 0 && looksLikeHtml(piece)) throw new HubFailure("WebPage");
      if (place.at + piece.byteLength > place.end) {
        throw new HubFailure("WrongSize", { expected: `${place.end - start} bytes`,
          received: "more" });
      }
      this.part.write(piece, place.at);
      place.at += piece.byteLength;
      this.came += piece.byteLength;
      this.tellBytes();
    }
    if (place.at < place.end) {
      throw new HubFailure("Truncated", { expected: `${place.end - start} bytes`,
        received: `${place.at - start}`, again: true });
    }
  }

  tellBytes() {
    this.teller.tell(this.part.bytes + this.came, this.part.size);
  }
}
