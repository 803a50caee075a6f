/** The device chip and the Device panel: adapter, limits, storage. */

import { byId, facts, fill, make, setText } from "./dom.js";
import { bytes, number } from "./format.js";
import { model, watch } from "./model.js";
import { CPU_TIMES_SLOWER, webgpuAdvice } from "./no_gpu.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./types.js").Device} Device */
/** @typedef {import("./client.js").Client} Client */

/** Bytes that the runs take, once the worker has said so. */
let used = /** @type {number | null} */ (null);

/** @param {Device} device */
function label(device) {
  // Some adapters give their maker's name for their own: the architecture says more.
  const own = device.name === device.vendor ? "" : device.name;
  return own || device.architecture || device.vendor || text.device.unnamed;
}

function drawChip() {
  const { device, phase } = model;
  const chip = byId("device-chip");
  chip.dataset.state = device?.fallback ? "cpu" : phase;
  if (!device) {
    setText(byId("device-chip-text"),
      phase === "booting" ? text.chip.waiting : text.chip.failed);
    return;
  }
  if (device.fallback) {
    setText(byId("device-chip-text"), text.device.cpuBadge(number(CPU_TIMES_SLOWER, 1)));
    return;
  }
  const parts = [label(device), device.precision];
  if (device.limits.maxBufferSize) parts.push(bytes(device.limits.maxBufferSize));
  if (used !== null) parts.push(text.chip.stored(bytes(used)));
  setText(byId("device-chip-text"), parts.join(" \u00b7 "));
}

/** @param {Device} device */
function drawAdapter(device) {
  const { unnamed, none, runtimes } = text.device;
  fill(byId("adapter-facts"), facts([
    [text.device.name, label(device)],
    [text.device.vendor, device.vendor || unnamed],
    [text.device.architecture, device.architecture || unnamed],
    [text.device.runtime, runtimes[device.runtime] ?? device.runtime],
    [text.device.precision, device.precision],
    [text.device.features, device.features.join(", ") || none],
  ]));
  const known = Object.entries(text.device.limitNames).filter(([name]) => name in device.limits);
  fill(byId("limit-facts"), facts(known.map(([name, [words, unit]]) =>
    [words, unit === "bytes" ? bytes(device.limits[name]) : number(device.limits[name])])));
}

/**
 * The card that says why there is no GPU and what would bring one, in both places.
 * @param {Device} device
 */
function drawNoGpu(device) {
  for (const id of ["no-gpu", "no-gpu-train"]) {
    const card = byId(id);
    card.hidden = !device.fallback;
    if (!device.fallback) continue;
    const { lead, tiny } = text.noGpu;
    fill(card, [
      make("p", {}, [make("strong", { text: lead }), ` ${tiny}`]),
      make("p", { class: "note", text: `${device.fallback} ${webgpuAdvice(navigator.userAgent)}` }),
    ]);
  }
}

function draw() {
  drawChip();
  const { device } = model;
  if (!device) {
    fill(byId("adapter-facts"), facts([[text.device.adapter, text.device.waiting]]));
    return;
  }
  drawAdapter(device);
  drawNoGpu(device);
}

/** @param {Client} client */
async function measureStorage(client) {
  const home = byId("storage-problem");
  clearProblem(home);
  try {
    const answer = await client.command("storage");
    used = answer.used;
    const { keptYes, keptNo, quotaUnknown } = text.device;
    fill(byId("storage-facts"), facts([
      [text.device.used, bytes(answer.used)],
      [text.device.quota, answer.quota ? bytes(answer.quota) : quotaUnknown],
      [text.device.kept, answer.persistent ? keptYes : keptNo],
    ]));
    const bar = byId("storage-bar");
    bar.hidden = !answer.quota;
    if (answer.quota) bar.setAttribute("value", String(answer.used / answer.quota));
    fill(byId("storage-runs"), answer.runs.map((/** @type {import("./types.js").Run} */ run) =>
      make("li", {}, [
        make("span", { text: run.run }),
        make("span", { class: "amount", text: bytes(run.bytes) }),
      ])));
    drawChip();
  } catch (reason) {
    if (model.phase === "ready") showProblem(reason, home);
  }
}

/** @param {Client} client */
export function setUpDevice(client) {
  watch((m) => [m.device, m.phase], draw);
  watch((m) => [m.place === "device", m.phase, m.live.checkpoint, m.live.state], () => {
    if (model.phase === "ready") void measureStorage(client);
  });
  byId("storage-refresh").addEventListener("click", () => void measureStorage(client));
}
