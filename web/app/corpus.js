/** The text to train on: built-in, pasted, chosen or dropped. */

import { bytesOf, setUpFile, setUpPaste } from "./bring.js";
import { byId, facts, fill, make, setText } from "./dom.js";
import { bytes, number } from "./format.js";
import { changed, model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Corpus} Corpus */

/**
 * Gives a text to the worker, which says what it is, and chooses it.
 * @param {Client} client
 * @param {string} name
 * @param {Uint8Array} data moved to the worker
 */
export async function addText(client, name, data) {
  const home = byId("corpus");
  clearProblem(home);
  try {
    const { corpus } = await client.command("add_corpus", { title: name, text: data });
    model.corpus = corpus.sha256;
    changed();
    return true;
  } catch (reason) {
    showProblem(reason, home);
    return false;
  }
}

/**
 * Reads a file and gives it to the worker.
 * @param {Client} client
 * @param {File} file
 */
export async function addFile(client, file) {
  const data = await bytesOf(file, byId("corpus"));
  if (data) await addText(client, file.name, data);
}

/** @param {Corpus} corpus */
function card(corpus) {
  const id = `corpus-${corpus.sha256.slice(0, 12)}`;
  const radio = make("input", {
    type: "radio", name: "corpus", id, value: corpus.sha256,
    onchange: () => {
      model.corpus = corpus.sha256;
      clearProblem(byId("corpus"));
      changed();
    },
  });
  radio.checked = model.corpus === corpus.sha256;
  return make("label", { class: "option", for: id }, [
    radio,
    make("span", { text: corpus.name }),
    make("span", { class: "amount", text: bytes(corpus.bytes) }),
  ]);
}

function draw() {
  const list = byId("corpus-list");
  if (model.corpora.length === 0) {
    fill(list, [make("p", { class: "note", text: text.corpus.waiting })]);
    return;
  }
  const focused = document.activeElement?.id;
  fill(list, model.corpora.map(card));
  if (focused?.startsWith("corpus-")) document.getElementById(focused)?.focus();
  const chosen = model.corpora.find((corpus) => corpus.sha256 === model.corpus);
  byId("corpus-found").hidden = !chosen;
  if (!chosen) return;
  // What the visitor brought is shown at once; what came with the page is a click away.
  byId("corpus-found").toggleAttribute("open", !chosen.builtin);
  setText(byId("corpus-summary"), text.corpus.summary(bytes(chosen.bytes), chosen.language));
  fill(byId("corpus-facts"), facts([
    [text.corpus.bytes, number(chosen.bytes)],
    [text.corpus.characters, number(chosen.characters)],
    [text.corpus.language, chosen.language],
  ]));
  setText(byId("corpus-preview"), chosen.preview);
}

/**
 * @param {Client} client
 * @param {Promise<unknown>} ready
 */
export function setUpCorpus(client, ready) {
  setUpPaste("corpus", async (data) => {
    await ready;
    return addText(client, text.corpus.pasteName, data);
  });
  setUpFile("corpus-file", async (file) => {
    await ready;
    await addFile(client, file);
  });
  watch((m) => [m.corpora, m.corpus], draw);
}
