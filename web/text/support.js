// Which tokenizers the tab can do: those whose ids were compared with the Rust library's. Whatever
// else a tokenizer.json asks for is refused by name, because wrong ids would only look like a bad
// model.

/** @typedef {Record<string, any>} Part a normalizer, pre-tokenizer, ... as the file describes it */

const KINDS = {
  normalizer: ["Sequence", "NFC", "NFD", "NFKC", "NFKD", "Replace", "Prepend", "Lowercase"],
  pre_tokenizer: ["Sequence", "ByteLevel", "Split", "Digits", "Metaspace"],
  model: ["BPE"],
  post_processor: ["Sequence", "ByteLevel", "TemplateProcessing"],
};
/** Where a Sequence keeps its parts. */
const INSIDE = ["normalizers", "pretokenizers", "processors"];

/**
 * Throws an error that names what cannot be done.
 * @param {Part} described a tokenizer.json
 */
export function checkSupported(described) {
  for (const [place, kinds] of Object.entries(KINDS)) {
    for (const part of flat(described[place])) {
      if (!kinds.includes(part.type)) {
        throw new Error(`its ${place} is a ${part.type}, which the tab cannot do`);
      }
    }
  }
  checkModel(described.model);
  const odd = described.added_tokens.find((/** @type {Part} */ token) => token.single_word);
  if (odd) throw new Error(`its token ${odd.content} counts only as a whole word, which the tab `
    + "cannot do");
}

/** @param {Part} model */
function checkModel(model) {
  if (model.dropout) throw new Error("its merges are left out by chance (dropout)");
  for (const name of ["end_of_word_suffix", "continuing_subword_prefix"]) {
    if (model[name]) throw new Error(`its model has a ${name}, which the tab cannot do`);
  }
}

/**
 * The parts of a part, without the sequences around them.
 * @param {Part | null} part
 * @returns {Part[]}
 */
export function flat(part) {
  if (!part) return [];
  if (part.type !== "Sequence") return [part];
  return INSIDE.flatMap((name) => part[name] ?? []).flatMap(flat);
}
