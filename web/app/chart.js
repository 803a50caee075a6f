/** The loss curve: uPlot, the baseline of guessing, and a read-out by pointer and by keyboard. */

import uPlot from "uplot";
import { byId, setText } from "./dom.js";
import { loss, number } from "./format.js";
import { model, watch } from "./model.js";
import { text } from "./strings.js";
import { onTheme } from "./theme.js";
import { baseline, vocabulary } from "./vocabulary.js";

const MOST_POINTS = 1200;
const FONT = '12px ui-monospace, "SF Mono", Menlo, Consolas, monospace';

/** @type {uPlot | null} */
let plot = null;
let closeUp = false;
/** The step that the keyboard reads: points can lie closer than the pointer's pixels. */
let reading = /** @type {number | null} */ (null);

/** @param {string} id of an element that wears the colour */
function colour(id) {
  return getComputedStyle(byId(id)).color;
}

/**
 * The lowest and highest loss in sight.
 * @returns {[number, number]}
 */
function lossRange() {
  const { train, validation } = model.live.history;
  let [low, high] = [Infinity, -Infinity];
  const see = (/** @type {number} */ value) => {
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  if (!closeUp || train.length < 2) {
    see(baseline());
    for (let i = 0; i < Math.min(50, train.length); i += 1) see(train.loss(i));
    return [0, (Number.isFinite(high) ? high : baseline()) * 1.06];
  }
  const from = train.step(train.length - 1) / 2;
  for (let i = train.length - 1; i >= 0 && train.step(i) >= from; i -= 1) see(train.loss(i));
  for (const point of validation) if (point.step >= from) see(point.loss);
  const margin = (high - low) * 0.1 || 0.1;
  return [Math.max(0, low - margin), high + margin];
}

/** @param {uPlot} u */
function drawBaseline(u) {
  const y = u.valToPos(baseline(), "y", true);
  const { left, top, width } = u.bbox;
  if (y < top) return;
  const { ctx } = u;
  ctx.save();
  ctx.strokeStyle = colour("key-baseline");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(left, y);
  ctx.lineTo(left + width, y);
  ctx.stroke();
  ctx.restore();
}

/**
 * The nearest point of a series to a place in the data.
 * @param {uPlot} u
 * @param {number} series
 * @param {number} index
 * @returns {number} an index, or -1 where the series is empty
 */
function nearest(u, series, index) {
  const values = u.data[series];
  for (let away = 0; away < values.length; away += 1) {
    if (values[index - away] != null) return index - away;
    if (values[index + away] != null) return index + away;
  }
  return -1;
}

/**
 * The place in the data that is being read, by keyboard or by pointer.
 * @param {uPlot} u
 */
function readIndex(u) {
  if (reading === null) return u.cursor.idx ?? null;
  const step = reading;
  const after = u.data[0].findIndex((value) => value >= step);
  return after < 0 ? u.data[0].length - 1 : after;
}

/** @param {uPlot} u */
function readOut(u) {
  const idx = readIndex(u);
  if (idx === null || idx < 0) {
    setText(byId("chart-readout"), text.chart.hint);
    return;
  }
  const [train, validation] = [1, 2].map((series) => {
    const at = nearest(u, series, idx);
    return at < 0 ? loss(null) : loss(u.data[series][at]);
  });
  setText(byId("chart-readout"), text.chart.readout(number(u.data[0][idx]), train, validation));
}

/** @param {number} width */
function size(width) {
  return { width: Math.max(240, width), height: Math.max(220, Math.min(380, width * 0.5)) };
}

/**
 * @param {number} width
 * @returns {uPlot.Options}
 */
function options(width) {
  const ink = colour("chart-readout");
  // A border of no width: the hairline's colour, resolved for this theme.
  const line = { stroke: getComputedStyle(byId("chart")).borderTopColor, width: 1 };
  const axis = { stroke: ink, font: FONT, grid: line, ticks: { ...line, size: 4 } };
  return {
    ...size(width),
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false, setScale: false },
      dataIdx: (u, series, index) => {
        const at = series > 0 ? nearest(u, series, index) : index;
        return at < 0 ? index : at;
      },
    },
    scales: {
      x: { time: false, range: () => [0, Math.max(1, model.live.maxSteps)] },
      y: { range: lossRange },
    },
    axes: [
      { ...axis, label: text.chart.step, labelFont: FONT, labelSize: 20, size: 28, space: 72,
        values: (_, values) => values.map((value) => (value % 1 ? "" : number(value))) },
      { ...axis, size: 40, space: 36,
        values: (_, values) => values.map((value) => String(Number(value.toFixed(3)))) },
    ],
    series: [
      {},
      { label: text.chart.train, stroke: colour("key-train"), width: 1.5, spanGaps: true,
        points: { show: (u) => u.data[0].length < 3 } },
      { label: text.chart.validation, stroke: colour("key-validation"), width: 2, dash: [6, 4],
        spanGaps: true, points: { show: true, size: 6, fill: colour("key-validation") } },
    ],
    hooks: { draw: [drawBaseline], setCursor: [readOut] },
  };
}

function build() {
  const home = byId("chart");
  if (byId("chart-figure").hidden || home.hidden) return;
  plot?.destroy();
  plot = null;
  // In a place that is not shown nothing has a width: it is built when the place comes back.
  if (model.place !== "train") return;
  plot = new uPlot(options(home.clientWidth), model.live.history.aligned(MOST_POINTS), home);
}

function draw() {
  const figure = byId("chart-figure");
  figure.hidden = model.live.run === null && model.live.history.train.length === 0;
  byId("explanation").hidden = !figure.hidden;
  byId("intro").hidden = !figure.hidden && ["ready", "crashed"].includes(model.phase);
  if (figure.hidden || model.place !== "train") return;
  if (!plot) build();
  else plot.setData(model.live.history.aligned(MOST_POINTS));
}

/**
 * Moves the read-out from point to point.
 * @param {KeyboardEvent} event
 */
function walk(event) {
  if (!plot || plot.data[0].length === 0) return;
  const last = plot.data[0].length - 1;
  const at = readIndex(plot) ?? (event.key === "ArrowRight" ? -1 : last + 1);
  /** @type {Record<string, number>} */
  const moves = {
    ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: last,
  };
  if (event.key === "Escape") {
    reading = null;
    plot.setCursor({ left: -10, top: -10 });
  }
  const to = moves[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const index = Math.max(0, Math.min(last, to));
  reading = plot.data[0][index];
  plot.setCursor({ left: plot.valToPos(reading, "x"), top: 1 });
  readOut(plot);
}

/** The chart as it stands, for the PNG file. */
export function chartCanvas() {
  return plot?.ctx.canvas ?? null;
}

function drawWords() {
  const { size, many } = vocabulary();
  setText(byId("baseline-words"), text.chart.baseline(loss(baseline()), number(size), many));
}

/** Sets up the chart, its scale switch and its keys. */
export function setUpChart() {
  const home = byId("chart");
  home.addEventListener("keydown", walk);
  home.addEventListener("pointermove", () => {
    reading = null;
  }, { capture: true });
  const button = byId("chart-close-up");
  button.addEventListener("click", () => {
    closeUp = !closeUp;
    button.setAttribute("aria-pressed", String(closeUp));
    draw();
  });
  let width = 0;
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (home.clientWidth === width || home.clientWidth === 0) return;
    width = home.clientWidth;
    if (plot) plot.setSize(size(width));
    else draw();
  })).observe(home);
  onTheme(build);
  watch((m) => [m.live, m.live.version, m.live.run, m.live.maxSteps, m.phase, m.place], draw);
  watch((m) => [m.live.run, m.presets], drawWords);
}
