/** What is dropped anywhere on the page: a text, the .zip of a run, a model or an adapter. */

import { adapterAmong, offerAdapter } from "./adapter_drop.js";
import { addFile } from "./corpus.js";
import { byId } from "./dom.js";
import { addJudgedFile } from "./evaluate_subject.js";
import { addDataFile } from "./finetune_data.js";
import { modelAmong, readDropped } from "./folder.js";
import { model } from "./model.js";
import { takeFolder } from "./models.js";
import { goTo } from "./places.js";
import { importRun } from "./runs.js";

/**
 * @param {import("./client.js").Client} client
 * @param {Promise<unknown>} ready
 */
export function setUpDrop(client, ready) {
  const veil = byId("drop-veil");
  const carriesFiles = (/** @type {DragEvent} */ event) =>
    event.dataTransfer?.types.includes("Files") ?? false;
  addEventListener("dragover", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    veil.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) veil.hidden = true;
  });
  addEventListener("drop", async (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    veil.hidden = true;
    if (!event.dataTransfer) return;
    const judged = event.target instanceof Node && byId("evaluate").contains(event.target);
    const { found, hasFolder } = await readDropped(event.dataTransfer);
    if (adapterAmong(found)) {
      await ready;
      await offerAdapter(found);
      return;
    }
    if (hasFolder || modelAmong(found)) {
      goTo("models");
      await ready;
      await takeFolder(client, found);
      return;
    }
    const file = found[0]?.file;
    if (!file) return;
    const isRun = file.name.toLowerCase().endsWith(".zip");
    const learns = model.place === "finetune" && !isRun;
    if (!learns) goTo("train");
    await ready;
    if (isRun) await importRun(client, file);
    else if (judged) await addJudgedFile(client, file);
    else await (learns ? addDataFile : addFile)(client, file);
  });
}
