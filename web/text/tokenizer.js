// A tokenizer.json in the tab, read by Hugging Face's own library.

const LIBRARY = new URL("../vendor/huggingface-tokenizers/tokenizers.js", import.meta.url);

/** @typedef {import("@huggingface/tokenizers").Tokenizer} Library */

/**
 * Reads a tokenizer.json.
 * @param {Uint8Array} data the file's bytes
 * @returns {Promise<TabTokenizer>}
 */
export async function openTokenizer(data) {
  const { Tokenizer } = /** @type {typeof import("@huggingface/tokenizers")} */ (
    await import(LIBRARY.href));
  const described = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data));
  return new TabTokenizer(new Tokenizer({ ...EMPTY, ...described }, {}));
}

/** The parts that a file may leave out. */
const EMPTY = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null,
  added_tokens: [] };

/** Lists cross to Python as JSON text. */
export class TabTokenizer {
  /** @param {Library} library */
  constructor(library) {
    this.library = library;
    this.vocabSize = library.get_vocab(true).size;
  }

  /** @param {string} text @param {boolean} addSpecialTokens @returns {string} the ids, as JSON */
  encode(text, addSpecialTokens) {
    const { ids } = this.library.encode(text, { add_special_tokens: addSpecialTokens });
    return JSON.stringify(ids);
  }

  /** @param {string} ids as JSON @param {boolean} skipSpecialTokens */
  decode(ids, skipSpecialTokens) {
    const list = JSON.parse(ids);
    if (list.length === 0) return "";
    return this.library.decode(list, { skip_special_tokens: skipSpecialTokens,
      clean_up_tokenization_spaces: false });
  }

  /** @param {string} token @returns {number | undefined} not null: in Python that is no None */
  tokenToId(token) {
    return this.library.token_to_id(token);
  }

  /** @param {number} id @returns {string | undefined} not null: in Python that is no None */
  idToToken(id) {
    return this.library.id_to_token(id);
  }
}
