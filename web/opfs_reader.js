// Reads parts of a file of OPFS into memory that the caller owns.

/** @typedef {{ read: (into: Uint8Array<ArrayBuffer>, at: number) => Promise<number>,
 *   close: () => void }} Reader
 */

/**
 * A reader of a file. The quick way is an access handle, which some browsers give to one reader
 * at a time: when another tab has it, the file is read as a blob.
 * @param {FileSystemFileHandle} file
 * @returns {Promise<Reader>}
 */
export async function openReader(file) {
  try {
    // `mode` is in Chromium, but not yet in TypeScript's library; other browsers pass over it.
    const handle = await /** @type {any} */ (file).createSyncAccessHandle({ mode: "read-only" });
    return {
      read: async (into, at) => handle.read(into, { at }),
      close: () => handle.close(),
    };
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "NoModificationAllowedError") {
      throw error;
    }
    return blobReader(await file.getFile());
  }
}

/**
 * @param {Blob} blob
 * @returns {Reader}
 */
function blobReader(blob) {
  return {
    read: async (into, at) => {
      const data = await blob.slice(at, at + into.byteLength).arrayBuffer();
      into.set(new Uint8Array(data));
      return data.byteLength;
    },
    close: () => undefined,
  };
}
