/** The same losses as a table, a CSV file and a picture. */

import { byId, download, fill, make, setText } from "./dom.js";
import { loss, number, scientific } from "./format.js";
import { text } from "./strings.js";

/** @typedef {import("./chart.js").LossChart} LossChart */
/** @typedef {import("./picture.js").Picture} Picture */

const MOST_ROWS = 200;

/** @param {Picture} picture */
function fileName({ live }) {
  return `${live().name || "run"}-loss`;
}

/** @param {Picture} picture */
function table({ live }) {
  const { history } = live();
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

/** @param {Picture} picture */
function toggleTable(picture) {
  const { prefix } = picture;
  const button = byId(`${prefix}chart-table-toggle`);
  const home = byId(`${prefix}chart-table`);
  const open = home.hidden;
  if (open) fill(home, table(picture));
  home.hidden = !open;
  byId(`${prefix}chart`).hidden = open;
  byId(`${prefix}chart-readout`).hidden = open;
  button.setAttribute("aria-expanded", String(open));
  setText(button, open ? text.chart.hideTable : text.chart.table);
}

/**
 * Draws the chart on the page's paper under a line that says what it is.
 * @param {Picture} from
 * @param {HTMLCanvasElement | null} chart
 */
function savePicture(from, chart) {
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
  const write = (/** @type {string} */ words, /** @type {string} */ name) => {
    context.fillStyle = getComputedStyle(byId(from.prefix + name)).color;
    context.fillText(words, x, band / 2);
    x += context.measureText(words).width + 20 * devicePixelRatio;
  };
  const unit = text.chart.unit(from.names().one);
  write(`${from.live().name} \u00b7 ${text.chart.heading}, ${unit}`, "chart-heading");
  write(`\u2014 ${text.chart.train}`, "key-train");
  write(`-- ${text.chart.validation}`, "key-validation");
  context.drawImage(chart, 0, band);
  picture.toBlob((blob) => {
    if (blob) download(`${fileName(from)}.png`, blob);
  });
}

/**
 * Sets up the three buttons beside a chart.
 * @param {Picture} picture
 * @param {LossChart} chart
 */
export function setUpChartExport(picture, chart) {
  const { prefix, live } = picture;
  byId(`${prefix}chart-table-toggle`).addEventListener("click", () => toggleTable(picture));
  byId(`${prefix}chart-png`).addEventListener("click", () => savePicture(picture, chart.canvas));
  byId(`${prefix}chart-csv`).addEventListener("click", () => {
    const blob = new Blob([live().history.toCsv()], { type: "text/csv" });
    download(`${fileName(picture)}.csv`, blob);
  });
}
