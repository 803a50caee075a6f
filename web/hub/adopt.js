// A file that a person dropped on the page becomes a file of OPFS, piece by piece.

import { HubFailure, fileFailure } from "./failure.js";
import { hex, newHash } from "./hash.js";
import { CHUNK_BYTES, PartFile } from "./part_file.js";
import { throwIfCancelled } from "./request.js";
import { checkQuota, Teller } from "./space.js";

/**
 * Copies a file of the computer.
 * @param {import("../opfs.js").Files} files
 * @param {File} file
 * @param {string} path
 * @param {((done: number, total: number) => void) | null} progress
 * @param {AbortSignal} signal
 * @returns {Promise<string>} JSON: size, etag (null), sha256
 */
export async function adoptFile(files, file, path, progress, signal) {
  const part = await PartFile.open(files, path);
  let sha256;
  try {
    await checkQuota(file.size, part.data.getSize());
    part.begin({ url: "", size: file.size, validator: null, sha256: null, chunk: CHUNK_BYTES });
    sha256 = await copy(file, part, new Teller(progress), signal);
    part.data.flush();
  } catch (error) {
    part.close();
    await part.discard();
    throw fileFailure(error);
  }
  part.close();
  await part.moveIntoPlace();
  return JSON.stringify({ size: file.size, etag: null, sha256 });
}

/**
 * @param {File} file
 * @param {PartFile} part
 * @param {Teller} teller
 * @param {AbortSignal} signal
 */
async function copy(file, part, teller, signal) {
  const hash = await newHash();
  let at = 0;
  for await (const piece of file.stream()) {
    throwIfCancelled(signal);
    part.write(piece, at);
    hash.update(piece);
    at += piece.byteLength;
    teller.tell(at, file.size, at === file.size);
  }
  if (at !== file.size) {
    throw new HubFailure("Changed", { expected: `${file.size} bytes`, received: `${at}` });
  }
  return hex(hash.digest());
}
