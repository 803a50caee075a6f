/** What a person should know before a download, and the bytes while they come. */

import { byId, facts, fill, fillKeepingFocus, make, setText } from "./dom.js";
import { bytes, duration, number } from "./format.js";
import { amount, cancelTransfer, download } from "./library.js";
import { changed, model, watch } from "./model.js";
import { describeProblem } from "./problems.js";
import { text } from "./strings.js";
import { isHeldFor, tokenVersion } from "./token.js";
import { drawTokenForm, heldRow, setUpTokenForm, wants } from "./token_form.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").ModelFacts} ModelFacts */
/** @typedef {import("./model.js").Sheet} Sheet */

/** @param {number | null | undefined} value @param {(value: number) => string} write */
function known(value, write) {
  return value === null || value === undefined ? text.models.sheet.unknown : write(value);
}

/** @param {ModelFacts} found */
function factRows(found) {
  const { sheet } = text.models;
  return facts([
    [sheet.from, found.source],
    [sheet.bytes, bytes(found.bytes)],
    [sheet.licence, found.licence ?? sheet.noLicence],
    [sheet.type, found.model_type ?? sheet.unknown],
    [sheet.parameters, known(found.parameters, number)],
    [sheet.precision, found.precision ?? sheet.unknown],
    [sheet.context, known(found.context_length, (n) => sheet.tokens(number(n)))],
    [sheet.gpu, known(found.gpu_bytes, bytes)],
    [sheet.free, known(found.free_bytes, bytes)],
  ]);
}

/** @param {ModelFacts} found */
function fileRows(found) {
  return make("details", {}, [
    make("summary", { text: text.models.sheet.each(number(found.files.length)) }),
    make("dl", { class: "facts" }, facts(found.files.map((file) =>
      [file.name, known(file.bytes, bytes)]))),
  ]);
}

/** What speaks against a download, as nodes; none if nothing does. @param {ModelFacts} found */
function hindrance(found) {
  const { sheet } = text.models;
  if (found.problem) return describeProblem(found.problem);
  const missing = found.bytes - (found.free_bytes ?? Infinity);
  if (missing > 0) return [make("p", { text: sheet.noRoom(bytes(missing)) })];
  if (model.library.transfer) return [make("p", { text: sheet.busy })];
  return [];
}

function closeSheet() {
  const at = model.library.sheet?.at;
  model.library.sheet = null;
  changed();
  document.getElementById(at === "own" ? "own-source" : `get-${at}`)?.focus();
}

/** @param {Client} client */
function drawSheet(client) {
  const { sheet } = model.library;
  const home = byId("sheet");
  home.hidden = !sheet;
  drawTokenForm(sheet?.refused ? sheet.source : null);
  if (!sheet) return;
  (document.getElementById(sheet.at === "own" ? "own-sheet" : `slot-${sheet.at}`)
    ?? byId("own-sheet")).append(home);
  if (sheet.refused) drawRefused(sheet.refused, sheet);
  else drawFacts(client, sheet);
}

/**
 * @param {import("./types.js").Problem} refused
 * @param {Sheet} sheet
 */
function drawRefused(refused, { title, source }) {
  setText(byId("sheet-heading"), text.models.token.heading(title));
  fill(byId("sheet-body"), wants(refused, source));
  if (!byId("sheet").contains(document.activeElement)) byId("sheet-heading").focus();
}

/**
 * @param {Client} client
 * @param {Sheet} sheet
 */
function drawFacts(client, sheet) {
  const words = text.models.sheet;
  setText(byId("sheet-heading"), words.heading(sheet.title));
  const no = make("button",
    { type: "button", id: "sheet-no", text: words.no, onclick: closeSheet });
  const found = sheet.facts;
  if (!found) {
    fill(byId("sheet-body"), [make("p", { class: "note", role: "status", text: words.looking }),
      make("div", { class: "row" }, [no])]);
    byId("sheet-heading").focus();
    return;
  }
  const against = hindrance(found);
  const agree = make("button", {
    type: "button", class: "filled", id: "sheet-agree", disabled: against.length > 0,
    text: words.agree(bytes(found.bytes)),
    onclick: () => void download(client, found.source, sheet.title),
  });
  fillKeepingFocus(byId("sheet-body"), [
    make("dl", { class: "facts" }, factRows(found)), fileRows(found),
    ...(against.length ? [make("div", { class: "problem" }, against)] : []),
    ...(isHeldFor(found.source) ? [heldRow("sheet-forget", () => byId("sheet-heading"))] : []),
    make("div", { class: "row" }, [agree, no]),
  ]);
}

/** @type {string} the title of the transfer in sight, so that it is scrolled to once */
let inSight = "";

function drawTransfer() {
  const { transfer } = model.library;
  const card = byId("transfer");
  card.hidden = !transfer;
  if (!transfer) {
    inSight = "";
    return;
  }
  const words = text.models.transfer;
  setText(byId("transfer-heading"),
    (transfer.copied ? words.adopting : words.heading)(transfer.title));
  setText(byId("transfer-file"), transfer.file || words.begins);
  setText(byId("transfer-file-amount"),
    transfer.fileBytes ? amount(transfer.fileDone, transfer.fileBytes) : "");
  byId("transfer-file-bar").setAttribute("value",
    String(transfer.fileBytes ? transfer.fileDone / transfer.fileBytes : 0));
  setText(byId("transfer-amount"), transfer.bytes ? amount(transfer.done, transfer.bytes) : "");
  byId("transfer-bar").setAttribute("value",
    String(transfer.bytes ? transfer.done / transfer.bytes : 0));
  setText(byId("transfer-left"),
    transfer.secondsLeft === null ? "" : words.left(duration(transfer.secondsLeft)));
  const cancel = /** @type {HTMLButtonElement} */ (byId("transfer-cancel"));
  cancel.disabled = transfer.cancelling;
  setText(cancel, transfer.cancelling ? words.cancelling : words.cancel);
  if (inSight !== transfer.title && model.place === "models") {
    inSight = transfer.title;
    card.scrollIntoView({ block: "nearest" });
    cancel.focus({ preventScroll: true });
  }
}

/** @param {Client} client */
export function setUpModelSheet(client) {
  byId("transfer-cancel").addEventListener("click", () => void cancelTransfer(client));
  setUpTokenForm(client, closeSheet);
  watch((m) => [m.library.sheet, m.library.transfer === null, m.library.catalogue,
    tokenVersion()], () => drawSheet(client));
  watch((m) => [m.library.transfer, m.place], drawTransfer);
}
