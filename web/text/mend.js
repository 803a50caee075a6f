// Where Hugging Face's JavaScript library gives other ids than the Rust library, this gives the
// Rust library's: that is what models were trained with.

/** @typedef {typeof import("@huggingface/tokenizers")} Library */
/** @typedef {import("@huggingface/tokenizers").Tokenizer} Tokenizer */

// Unicode's white space: JavaScript's \s has U+FEFF too, and lacks U+0085.
const BYTE_LEVEL = new RegExp("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+"
  + "| ?[^\\p{White_Space}\\p{L}\\p{N}]+|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+",
  "gu");
// Every numeric character, as Rust's `is_numeric`: JavaScript's \d is 0 to 9.
const DIGITS = /\p{N}+|\P{N}+/gu;
const EACH_DIGIT = /\p{N}|\P{N}+/gu;

/**
 * Mends a tokenizer.
 * @param {Tokenizer} tokenizer
 * @param {Library} library
 */
export function mend(tokenizer, library) {
  for (const part of preTokenizers(tokenizer.pre_tokenizer, library)) {
    if (part instanceof library.ByteLevelPreTokenizer) {
      part.pattern = BYTE_LEVEL;
    } else if (part instanceof library.DigitsPreTokenizer) {
      part.pattern = part.config.individual_digits ? EACH_DIGIT : DIGITS;
    } else if (part instanceof library.SplitPreTokenizer) {
      mendSplit(part);
    }
  }
  mendUnknown(/** @type {any} */ (tokenizer.model));
  mendFusing(/** @type {any} */ (tokenizer.model));
}

/**
 * @param {any} part
 * @param {Library} library
 * @returns {any[]}
 */
function preTokenizers(part, library) {
  if (part instanceof library.SequencePreTokenizer) {
    return part.tokenizers.flatMap((one) => preTokenizers(one, library));
  }
  return part ? [part] : [];
}

/**
 * Without a token for the unknown, Rust drops a character that is not in the vocabulary before
 * its neighbours are merged, JavaScript afterwards: the neighbours would stay apart.
 * @param {any} model
 */
function mendUnknown(model) {
  if (model.byte_fallback || model.unk_token_id !== undefined) return;
  const bpe = model.bpe.bind(model);
  model.bpe = (/** @type {string} */ word) => {
    const known = Array.from(word).filter((character) => model.tokens_to_ids.has(character));
    return bpe(known.join(""));
  };
}

/**
 * Rust makes one unknown token of several neighbours inside a word, JavaScript across words too.
 * @param {any} model
 */
function mendFusing(model) {
  if (!model.fuse_unk) return;
  const fused = model._call.bind(model);
  model._call = (/** @type {string[]} */ words) => words.flatMap((word) => fused([word]));
}

/** @typedef {{text: string, match: boolean}} Piece */

/**
 * The library knows two of the five things that can become of a match.
 * @param {any} split
 */
function mendSplit(split) {
  const { behavior, invert } = split.config;
  const join = /** @type {Record<string, (pieces: Piece[]) => string[]>} */ (JOINS)[behavior];
  if (!join) throw new Error(`its Split has the behavior ${behavior}, which the tab cannot do`);
  split.pre_tokenize_text = (/** @type {string} */ text) => {
    const pieces = cut(text, split.pattern).map((piece) => (
      invert ? { ...piece, match: !piece.match } : piece));
    return join(pieces).filter((piece) => piece);
  };
}

/** @param {string} text @param {RegExp} pattern @returns {Piece[]} */
function cut(text, pattern) {
  const pieces = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(pattern)) {
    if (index > end) pieces.push({ text: text.slice(end, index), match: false });
    pieces.push({ text: found, match: true });
    end = index + found.length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), match: false });
  return pieces;
}

const JOINS = {
  Removed: (/** @type {Piece[]} */ pieces) => pieces.filter(({ match }) => !match).map(textOf),
  Isolated: (/** @type {Piece[]} */ pieces) => pieces.map(textOf),
  Contiguous: (/** @type {Piece[]} */ pieces) => gather(pieces,
    (before, piece) => before.match === piece.match),
  MergedWithPrevious: (/** @type {Piece[]} */ pieces) => gather(pieces,
    (before, piece) => piece.match && !before.match),
  MergedWithNext: (/** @type {Piece[]} */ pieces) => gather(pieces,
    (before, piece) => before.match && !piece.match),
};

/** @param {Piece} piece */
function textOf({ text }) {
  return text;
}

/**
 * Joins each piece to the one before it where `joins` says so.
 * @param {Piece[]} pieces
 * @param {(before: Piece, piece: Piece) => boolean} joins
 */
function gather(pieces, joins) {
  /** @type {string[]} */
  const texts = [];
  pieces.forEach((piece, i) => {
    if (i > 0 && joins(pieces[i - 1], piece)) texts[texts.length - 1] += piece.text;
    else texts.push(piece.text);
  });
  return texts;
}
