/** Which words of a text are not in another: the longest common subsequence of words. Pure. */

/** Beyond this the table of the method grows too large: what is left counts as new. */
const MOST_WORDS = 600;

/** @typedef {{words: string, fresh: boolean}} Piece */

/** @param {string} words */
function split(words) {
  return words.match(/\s+|[\p{L}\p{N}_']+|[^\s\p{L}\p{N}_']/gu) ?? [];
}

/**
 * Lengths of the longest common subsequence of what follows each pair of places.
 * @param {string[]} a
 * @param {string[]} b
 */
function lengths(a, b) {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  return table;
}

/**
 * Neighbours of one kind as one piece. Space is news only between news.
 * @param {Piece[]} pieces
 */
function joined(pieces) {
  const isSpace = (/** @type {Piece} */ { words }) => words.trim() === "";
  /** @type {Piece[]} */
  const all = [];
  pieces.forEach((piece, i) => {
    const last = all[all.length - 1];
    const fresh = isSpace(piece)
      ? Boolean(pieces[i - 1]?.fresh && pieces[i + 1]?.fresh) : piece.fresh;
    if (last && last.fresh === fresh) last.words += piece.words;
    else all.push({ words: piece.words, fresh });
  });
  return all;
}

/**
 * The second text in pieces; `fresh` ones are not in the first. Pieces join to the whole text.
 * @param {string} before
 * @param {string} after
 * @returns {Piece[]}
 */
export function compareWords(before, after) {
  const a = split(before).slice(0, MOST_WORDS);
  const all = split(after);
  const b = all.slice(0, MOST_WORDS);
  const width = b.length + 1;
  const table = lengths(a, b);
  /** @type {Piece[]} */
  const pieces = [];
  const add = (/** @type {string} */ words, /** @type {boolean} */ fresh) => {
    pieces.push({ words, fresh });
  };
  let i = 0;
  for (let j = 0; j < b.length;) {
    if (i < a.length && a[i] === b[j]) {
      add(b[j], false);
      i += 1;
      j += 1;
    } else if (i < a.length && table[(i + 1) * width + j] >= table[i * width + j + 1]) {
      i += 1;
    } else {
      add(b[j], true);
      j += 1;
    }
  }
  for (const words of all.slice(MOST_WORDS)) add(words, true);
  return joined(pieces);
}
