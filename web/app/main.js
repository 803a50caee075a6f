/** Puts the page together. */

import { setUpActions, startWanted } from "./actions.js";
import { setUpAdapterDrop } from "./adapter_drop.js";
import { setUpAdapters } from "./adapters.js";
import { ready, setUpBoot, setUpStageLine } from "./boot.js";
import { setUpChart, setUpExplanation } from "./chart.js";
import { setUpChartExport } from "./chart_export.js";
import { frameChart } from "./chart_frame.js";
import { setUpChat } from "./chat.js";
import { openChatWith } from "./chat_adapter.js";
import { Client } from "./client.js";
import { setUpCorpus } from "./corpus.js";
import { setUpDevice } from "./device.js";
import { byId } from "./dom.js";
import { offerDriver } from "./driver.js";
import { setUpDrop } from "./drop.js";
import { setUpEstimate } from "./estimate.js";
import { setUpEvaluate } from "./evaluate.js";
import { setUpEvents } from "./events.js";
import { setUpFacts } from "./facts.js";
import { setUpFineTune } from "./finetune.js";
import { bytes } from "./format.js";
import { setUpGenerate } from "./generate.js";
import { setUpLibrary } from "./library.js";
import { setUpMeasurements } from "./measure.js";
import { setUpModels } from "./models.js";
import { setUpModelsHere } from "./models_here.js";
import { setUpModelSheet } from "./models_sheet.js";
import { model } from "./model.js";
import { keepOffline } from "./offline.js";
import { TRAIN, TUNE } from "./picture.js";
import { setUpPlaces } from "./places.js";
import { setUpPresence } from "./presence.js";
import { showProblem } from "./problems.js";
import { loadProtocol } from "./protocol.js";
import { findStoppedRun, setUpRuns } from "./runs.js";
import { setUpSamples } from "./samples.js";
import { drawSchematic } from "./schematic.js";
import { setUpSession } from "./session.js";
import { beginSettings, setUpSettings } from "./settings_form.js";
import { text } from "./strings.js";
import { setUpTheme } from "./theme.js";
import { fillWords } from "./words.js";

const ROOT = new URL("../../", import.meta.url);

/** Everything that can be shown before the worker speaks. */
function setUpStatic() {
  for (const { prefix } of [TRAIN, TUNE]) frameChart(prefix);
  fillWords();
  setUpTheme();
  setUpPlaces();
  drawSchematic();
  setUpSettings();
  for (const picture of [TRAIN, TUNE]) setUpChartExport(picture, setUpChart(picture));
  setUpExplanation();
  setUpFacts(TRAIN);
  setUpFacts(TUNE, () => (model.tune.live.memory === 0 ? []
    : [[text.finetune.facts.memory, bytes(model.tune.live.memory)]]));
  setUpSamples();
  setUpStageLine();
}

async function start() {
  const driver = offerDriver();
  setUpStatic();
  let protocol;
  try {
    protocol = await loadProtocol(new URL("../protocol.json", import.meta.url));
  } catch (reason) {
    const problem = { code: "protocol", message: text.problems.noProtocol, detail: String(reason) };
    showProblem(problem, byId("boot-problem"));
    driver.fail(problem.message);
    return;
  }
  const open = () => new Worker(new URL("../worker.js", import.meta.url), { type: "module" });
  const client = new Client(open, protocol);
  setUpSession(client);
  setUpEvents(client);
  setUpCorpus(client, ready);
  setUpEstimate(client);
  setUpActions(client);
  setUpRuns(client);
  setUpGenerate(client);
  setUpLibrary(client);
  setUpModels(client);
  setUpModelsHere(client);
  setUpModelSheet(client);
  setUpChat(client);
  setUpAdapters(client, (name) => openChatWith(client, name));
  setUpAdapterDrop(client);
  setUpFineTune(client);
  setUpEvaluate(client);
  setUpDevice(client);
  setUpMeasurements(client);
  setUpPresence(client);
  setUpDrop(client, ready);
  driver.connect(client);
  const device = new URLSearchParams(location.search).get("device") ?? "auto";
  void setUpBoot(client, { device, base: ROOT.href });
  await ready;
  beginSettings();
  findStoppedRun();
  await startWanted(client);
  await keepOffline(ROOT);
}

await start();
