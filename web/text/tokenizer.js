// A tokenizer.json in the tab, read by Hugging Face's own library.

import { mend } from "./mend.js";
import { checkSupported } from "./support.js";

const LIBRARY = new URL("../vendor/huggingface-tokenizers/tokenizers.js", import.meta.url);
/** The parts that a file may leave out. */
const EMPTY = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null,
  added_tokens: [] };

/**
 * Reads a tokenizer.json.
 * @param {Uint8Array} data the file's bytes
 * @returns {Promise<TabTokenizer>}
 */
export async function openTokenizer(data) {
  const library = /** @type {typeof import("@huggingface/tokenizers")} */ (
    await import(LIBRARY.href));
  const file = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data));
  if (!file?.model?.vocab) throw new Error("it has no vocabulary");
  const described = { ...EMPTY, ...file };
  checkSupported(described);
  // Text comes from ids in tabgrad/text/decoding.py, so the library gets no decoder.
  const tokenizer = new library.Tokenizer({ ...described, decoder: null }, {});
  mend(tokenizer, library);
  forget(/** @type {any} */ (tokenizer));
  return new TabTokenizer(tokenizer, described);
}

/**
 * Lets go of the file's own lists, which the library keeps beside its tables: half of the memory.
 * @param {any} tokenizer
 */
function forget(tokenizer) {
  tokenizer.tokenizer = null;
  tokenizer.model.config = {};
  tokenizer.model.merges = [];
}

/** What Python asks. Lists cross as JSON text; undefined, and not null, is Python's None. */
export class TabTokenizer {
  /**
   * @param {import("@huggingface/tokenizers").Tokenizer} tokenizer
   * @param {Record<string, any>} described
   */
  constructor(tokenizer, described) {
    const special = described.added_tokens.filter((/** @type {any} */ token) => token.special);
    this.tokenizer = tokenizer;
    this.vocabSize = tokenizer.get_vocab(true).size;
    this.decoder = JSON.stringify(described.decoder);
    this.specialIds = JSON.stringify(special.map((/** @type {any} */ token) => token.id));
  }

  /** @param {string} text @param {boolean} addSpecialTokens @returns {string} the ids, as JSON */
  encode(text, addSpecialTokens) {
    const { ids } = this.tokenizer.encode(text, { add_special_tokens: addSpecialTokens });
    return JSON.stringify(ids);
  }

  /** @param {string} token @returns {number | undefined} */
  tokenToId(token) {
    return this.tokenizer.token_to_id(token);
  }

  /** @param {number} id @returns {string | undefined} */
  idToToken(id) {
    return this.tokenizer.id_to_token(id);
  }
}
