/** The same losses as a table, a CSV file and a picture. */

import { chartCanvas } from "./chart.js";
import { byId, download, fill, make, setText } from "./dom.js";
import { loss, number, scientific } from "./format.js";
import { model } from "./model.js";
import { text } from "./strings.js";
import { vocabulary } from "./vocabulary.js";

const MOST_ROWS = 200;

function fileName() {
  return `${model.live.name || "run"}-loss`;
}

function table() {
  const { history } = model.live;
  const { train, validation } = history;
  const seen = new Map(validation.map((point) => [point.step, point.loss]));
  const shown = history.thinTrain(MOST_ROWS);
  const rows = shown.map((point) => make("tr", {}, [
    number(point.step), loss(point.loss), loss(seen.get(point.step)),
    scientific(point.learning_rate), scientific(point.grad_norm),
  ].map((cell) => make("td", { text: cell }))));
  return [
    make("table", {}, [
      make("thead", {}, [make("tr", {}, text.chart.columns.map((name) =>
        make("th", { scope: "col", text: name })))]),
      make("tbody", {}, rows),
    ]),
    make("p", {
      class: "note", text: text.chart.tableNote(number(shown.length), number(train.length)),
    }),
  ];
}

function toggleTable() {
  const button = byId("chart-table-toggle");
  const home = byId("chart-table");
  const open = home.hidden;
  if (open) fill(home, table());
  home.hidden = !open;
  byId("chart").hidden = open;
  byId("chart-readout").hidden = open;
  button.setAttribute("aria-expanded", String(open));
  setText(button, open ? text.chart.hideTable : text.chart.table);
}

/** Draws the chart on the page's paper under a line that says what it is. */
function savePicture() {
  const chart = chartCanvas();
  if (!chart) return;
  const band = 32 * devicePixelRatio;
  const picture = document.createElement("canvas");
  picture.width = chart.width;
  picture.height = chart.height + band;
  const context = picture.getContext("2d");
  if (!context) return;
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, picture.width, picture.height);
  context.font = `${13 * devicePixelRatio}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  let x = 12 * devicePixelRatio;
  const write = (/** @type {string} */ words, /** @type {string} */ id) => {
    context.fillStyle = getComputedStyle(byId(id)).color;
    context.fillText(words, x, band / 2);
    x += context.measureText(words).width + 20 * devicePixelRatio;
  };
  const { name } = model.live;
  const unit = text.chart.unit(vocabulary().one);
  write(`${name} \u00b7 ${text.chart.heading}, ${unit}`, "chart-heading");
  write(`\u2014 ${text.chart.train}`, "key-train");
  write(`-- ${text.chart.validation}`, "key-validation");
  context.drawImage(chart, 0, band);
  picture.toBlob((blob) => {
    if (blob) download(`${fileName()}.png`, blob);
  });
}

/** Sets up the three buttons beside the chart. */
export function setUpChartExport() {
  byId("chart-table-toggle").addEventListener("click", toggleTable);
  byId("chart-png").addEventListener("click", savePicture);
  byId("chart-csv").addEventListener("click", () => {
    const blob = new Blob([model.live.history.toCsv()], { type: "text/csv" });
    download(`${fileName()}.csv`, blob);
  });
}
