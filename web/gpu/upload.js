// From a file of OPFS to the GPU: one piece of memory, used again and again.

import { openReader } from "../opfs_reader.js";

/** Longest piece that is in memory at once. */
const PIECE_BYTES = 16 * 2 ** 20;
/** Pieces on their way to the GPU before we wait for them: the browser holds a copy of each. */
const PIECES_AHEAD = 4;

/** The file has fewer bytes than were asked for. */
class EndsEarly extends Error {
  /** @override */
  name = "EndsEarly";
}

/**
 * Copies `size` bytes of a file into a buffer; the last four are filled up with zeros.
 * @param {import("../replay.js").ReplayGpu} gpu
 * @param {GPUBuffer} buffer
 * @param {number} offset in the buffer, in bytes
 * @param {FileSystemFileHandle} file
 * @param {number} fileOffset
 * @param {number} size
 */
export async function uploadFile(gpu, buffer, offset, file, fileOffset, size) {
  const reader = await openReader(file);
  try {
    const piece = new Uint8Array(Math.min(PIECE_BYTES, 4 * Math.ceil(size / 4)));
    for (let start = 0, count = 1; start < size; start += PIECE_BYTES, count += 1) {
      const length = Math.min(PIECE_BYTES, size - start);
      const got = await reader.read(piece.subarray(0, length), fileOffset + start);
      if (got !== length) throw new EndsEarly(`${got} of ${length} bytes`);
      const whole = 4 * Math.ceil(length / 4);
      piece.fill(0, length, whole);
      gpu.failures.check();
      gpu.device.queue.writeBuffer(buffer, offset + start, piece, 0, whole);
      if (count % PIECES_AHEAD === 0) await gpu.staging.drained();
    }
  } finally {
    reader.close();
  }
}
