/** Measurements on the visitor's own device: matrix products, and where a step's time goes. */

import { byId, fill, make, setText } from "./dom.js";
import { milliseconds, number, scientific } from "./format.js";
import { model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */

const SIZE = 512;

/**
 * @param {string[]} columns
 * @param {string[][]} rows the first cell of each is its heading
 */
function table(columns, rows) {
  return make("table", {}, [
    make("thead", {}, [make("tr", {}, columns.map((name) =>
      make("th", { scope: "col", text: name })))]),
    make("tbody", {}, rows.map(([head, ...cells]) => make("tr", {}, [
      make("th", { scope: "row", text: head }),
      ...cells.map((cell) => make("td", { text: cell })),
    ]))),
  ]);
}

/** @param {import("./types.js").BenchmarkRow[]} rows */
function benchmarkTable(rows) {
  return table(text.device.columns, rows.map((row) => [
    row.name, row.size, milliseconds(row.milliseconds), number(row.gflops, 2),
    scientific(row.error),
  ]));
}

/**
 * A profile's rows are `{name, milliseconds, ...}`: the longest first, with its share.
 * @param {Record<string, any>[]} rows
 */
function profileTable(rows) {
  if (rows.length === 0) return make("p", { class: "note", text: text.device.noProfile });
  const whole = rows.reduce((sum, row) => sum + Number(row.milliseconds), 0);
  const sorted = [...rows].sort((a, b) => b.milliseconds - a.milliseconds);
  const [what, , time] = text.device.columns;
  return table([what, time, text.device.share], sorted.map((row) => [
    String(row.name), milliseconds(Number(row.milliseconds)),
    `${number((100 * Number(row.milliseconds)) / Math.max(whole, 1e-9), 1)} %`,
  ]));
}

/**
 * A button that measures, with its table and its place for problems.
 * @param {Client} client
 * @param {{name: "benchmark" | "profile", fields: Record<string, unknown>, idle: string,
 *   busy: string, show: (rows: any[]) => Node}} what
 */
function setUpOne(client, { name, fields, idle, busy, show }) {
  const button = /** @type {HTMLButtonElement} */ (byId(name));
  const home = byId(`${name}-problem`);
  let running = false;
  const draw = () => {
    button.disabled = running || model.phase !== "ready";
    button.setAttribute("aria-busy", String(running));
    setText(button, running ? busy : idle);
  };
  button.addEventListener("click", async () => {
    clearProblem(home);
    running = true;
    draw();
    try {
      const { rows } = await client.command(name, fields);
      fill(byId(`${name}-table`), [show(rows)]);
    } catch (reason) {
      if (model.phase !== "crashed") showProblem(reason, home);
    } finally {
      running = false;
      draw();
    }
  });
  watch((m) => [m.phase], draw);
}

/** @param {Client} client */
export function setUpMeasurements(client) {
  setUpOne(client, {
    name: "benchmark", fields: { size: SIZE }, idle: text.device.measure,
    busy: text.device.measuring, show: benchmarkTable,
  });
  setUpOne(client, {
    name: "profile", fields: {}, idle: text.device.profileButton,
    busy: text.device.profiling, show: profileTable,
  });
}
