/** The Models place: the catalogue, an address of one's own, and a folder of this computer. */

import { startWords } from "./boot.js";
import { byId, fillKeepingFocus, make, setText } from "./dom.js";
import { bytes, number, parameters } from "./format.js";
import { modelAmong, readChosen } from "./folder.js";
import { adopt, lookAt } from "./library.js";
import { changed, model, watch } from "./model.js";
import { openChat } from "./chat_model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";
import { takeOwn } from "./token_form.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").CatalogueModel} CatalogueModel */

/**
 * @param {Client} client
 * @param {CatalogueModel} entry
 * @param {number} at
 */
function row(client, entry, at) {
  const { catalogue, here } = text.models;
  return make("li", { id: `entry-${at}` }, [
    make("div", { class: "entry" }, [
      make("div", {}, [
        make("h3", {}, [entry.title, " ",
          make("span", { class: "tag", text: entry.chat ? catalogue.chats : catalogue.goesOn })]),
        make("p", { text: entry.summary }),
        make("p", { class: "note amount", text: catalogue.line(
          parameters(entry.parameters), bytes(entry.bytes), entry.licence) }),
      ]),
      make("button", {
        type: "button", id: `get-${at}`,
        text: entry.model ? here.chat : catalogue.get,
        "aria-label": entry.model ? here.ofModel(here.chat, entry.title)
          : catalogue.getOf(entry.title),
        onclick: () => {
          if (entry.model) openChat(client, entry.model);
          else void lookAt(client, { at: String(at), source: entry.source, title: entry.title });
        },
      }),
    ]),
    make("div", { id: `slot-${at}` }),
  ]);
}

/** @param {Client} client */
function drawCatalogue(client) {
  const { catalogue } = model.library;
  // The sheet may lie in a row: it is kept, and put back by what draws it.
  byId("own-sheet").append(byId("sheet"));
  fillKeepingFocus(byId("catalogue"), catalogue.map((entry, at) => row(client, entry, at)));
}

/**
 * A folder or files of this computer become a model, or it is said why not.
 * @param {Client} client
 * @param {import("./folder.js").Found[]} found
 */
export async function takeFolder(client, found) {
  const { own } = text.models;
  clearProblem(byId("drop-problem"));
  const among = modelAmong(found);
  if (!among) {
    showProblem({ code: "checkpoint", message: own.noModel, expected: own.expected,
      received: own.received(number(found.length)) }, byId("drop-problem"));
    return;
  }
  await adopt(client, among.title || own.title, among.files);
}

/** @param {Client} client */
function setUpOwn(client) {
  byId("own-form").addEventListener("submit", (event) => {
    event.preventDefault();
    clearProblem(byId("own-problem"));
    const source = /** @type {HTMLInputElement} */ (byId("own-source")).value.trim();
    if (source) {
      if (takeOwn(source)) void lookAt(client, { at: "own", source, title: source });
    } else {
      showProblem({ code: "settings", message: text.models.own.empty, control: "own-source" },
        byId("own-problem"));
    }
  });
  for (const id of ["own-files", "own-folder"]) {
    const input = /** @type {HTMLInputElement} */ (byId(id));
    input.addEventListener("change", () => {
      const found = readChosen(input.files ?? new DataTransfer().files);
      input.value = "";
      if (found.length) void takeFolder(client, found);
    });
  }
  watch((m) => [m.library.transfer === null, m.phase], () => {
    const busy = model.library.transfer !== null || model.phase !== "ready";
    for (const id of ["own-files", "own-folder", "own-look"]) {
      /** @type {HTMLInputElement} */ (byId(id)).disabled = busy;
    }
  });
}

/** @param {Client} client */
export function setUpModels(client) {
  setUpOwn(client);
  watch((m) => [m.library.catalogue], () => {
    drawCatalogue(client);
    changed();
  });
  watch((m) => [m.library.catalogue, m.phase, m.stages], () => {
    setText(byId("catalogue-waiting"),
      model.library.catalogue.length ? "" : startWords() || text.models.waiting);
  });
}
