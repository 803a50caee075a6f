/** Which words of a text are not in another: the longest common subsequence of words. Pure. */

/** Beyond this the table of the method grows too large: what is left counts as new. */
const MOST_WORDS = 600;

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
 * The second text in pieces; `fresh` ones are not in the first. Pieces join to the whole text.
 * @param {string} before
 * @param {string} after
 * @returns {{words: string, fresh: boolean}[]}
 */
export function compareWords(before, after) {
  const a = split(before).slice(0, MOST_WORDS);
  const all = split(after);
  const b = all.slice(0, MOST_WORDS);
  const width = b.length + 1;
  const table = lengths(a, b);
  /** @type {{words: string, fresh: boolean}[]} */
  const pieces = [];
  const add = (/** @type {string} */ words, /** @type {boolean} */ fresh) => {
    const last = pieces[pieces.length - 1];
    if (last && last.fresh === fresh) last.words += words;
    else pieces.push({ words, fresh });
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
      // Space alone is no news.
      add(b[j], b[j].trim() !== "");
      j += 1;
    }
  }
  for (const words of all.slice(MOST_WORDS)) add(words, true);
  return pieces;
}
