/** A file dropped anywhere on the page: a text to train on, or the .zip of a run. */

import { addFile } from "./corpus.js";
import { byId } from "./dom.js";
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
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    goTo("train");
    await ready;
    if (file.name.toLowerCase().endsWith(".zip")) await importRun(client, file);
    else await addFile(client, file);
  });
}
