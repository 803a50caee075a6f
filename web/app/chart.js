/** The loss curve: uPlot, what it is held against, and a read-out by pointer and by keyboard. */

import uPlot from "uplot";
import { byId, setText } from "./dom.js";
import { loss, number } from "./format.js";
import { model, watch } from "./model.js";
import { text } from "./strings.js";
import { onTheme } from "./theme.js";

/** @typedef {import("./picture.js").Picture} Picture */

const MOST_POINTS = 1200;
const FONT = '12px ui-monospace, "SF Mono", Menlo, Consolas, monospace';

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

/** @param {number} width */
function size(width) {
  return { width: Math.max(240, width), height: Math.max(220, Math.min(380, width * 0.5)) };
}

/** The chart of one picture. */
export class LossChart {
  /** @type {uPlot | null} */
  #plot = null;
  #closeUp = false;
  /** The step that the keyboard reads: points can lie closer than the pointer's pixels.
   * @type {number | null} */
  #reading = null;

  /** @param {Picture} picture */
  constructor(picture) {
    this.picture = picture;
    const home = this.#element("chart");
    home.addEventListener("keydown", (event) => this.#walk(event));
    home.addEventListener("pointermove", () => {
      this.#reading = null;
    }, { capture: true });
    const button = this.#element("chart-close-up");
    button.addEventListener("click", () => {
      this.#closeUp = !this.#closeUp;
      button.setAttribute("aria-pressed", String(this.#closeUp));
      this.draw();
    });
    this.#followWidth(home);
    onTheme(() => this.#build());
  }

  /** The chart as it stands, for the PNG file. */
  get canvas() {
    return this.#plot?.ctx.canvas ?? null;
  }

  /** Draws what there is; nothing in a place that is not in sight. */
  draw() {
    const { live, place, baseline } = this.picture;
    const figure = this.#element("chart-figure");
    figure.hidden = live().run === null && live().history.train.length === 0;
    if (figure.hidden || model.place !== place) return;
    const against = baseline();
    this.#element("baseline").hidden = against === null;
    setText(this.#element("baseline-words"), against?.words ?? "");
    if (!this.#plot) this.#build();
    else this.#plot.setData(live().history.aligned(MOST_POINTS));
  }

  /** @param {string} name of an element of this picture */
  #element(name) {
    return byId(this.picture.prefix + name);
  }

  /** @param {string} name of an element that wears the colour */
  #colour(name) {
    return getComputedStyle(this.#element(name)).color;
  }

  /** @param {HTMLElement} home */
  #followWidth(home) {
    let width = 0;
    new ResizeObserver(() => requestAnimationFrame(() => {
      if (home.clientWidth === width || home.clientWidth === 0) return;
      width = home.clientWidth;
      if (this.#plot) this.#plot.setSize(size(width));
      else this.draw();
    })).observe(home);
  }

  #build() {
    const home = this.#element("chart");
    if (this.#element("chart-figure").hidden || home.hidden) return;
    this.#plot?.destroy();
    this.#plot = null;
    // In a place that is not shown nothing has a width: it is built when the place comes back.
    if (model.place !== this.picture.place) return;
    const rows = this.picture.live().history.aligned(MOST_POINTS);
    this.#plot = new uPlot(this.#options(home.clientWidth), rows, home);
  }

  /**
   * The lowest and highest loss in sight.
   * @returns {[number, number]}
   */
  #lossRange() {
    const { train, validation } = this.picture.live().history;
    const against = this.picture.baseline();
    let [low, high] = [Infinity, -Infinity];
    const see = (/** @type {number} */ value) => {
      low = Math.min(low, value);
      high = Math.max(high, value);
    };
    const whole = !this.#closeUp || train.length < 2;
    if (whole) {
      if (against) see(against.value);
      for (let i = 0; i < Math.min(50, train.length); i += 1) see(train.loss(i));
      if (!Number.isFinite(high)) high = against?.value ?? 1;
      if (this.picture.fromZero || train.length < 2) return [0, high * 1.06];
    }
    const from = whole ? 0 : train.step(train.length - 1) / 2;
    for (let i = train.length - 1; i >= 0 && train.step(i) >= from; i -= 1) see(train.loss(i));
    for (const point of validation) if (point.step >= from) see(point.loss);
    const margin = (high - low) * 0.1 || 0.1;
    return [Math.max(0, low - margin), high + margin];
  }

  /** @param {uPlot} u */
  #drawBaseline(u) {
    const against = this.picture.baseline();
    if (!against) return;
    const y = u.valToPos(against.value, "y", true);
    const { left, top, width } = u.bbox;
    if (y < top) return;
    const { ctx } = u;
    ctx.save();
    ctx.strokeStyle = this.#colour("key-baseline");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    ctx.restore();
  }

  /**
   * The place in the data that is being read, by keyboard or by pointer.
   * @param {uPlot} u
   */
  #readIndex(u) {
    if (this.#reading === null) return u.cursor.idx ?? null;
    const step = this.#reading;
    const after = u.data[0].findIndex((value) => value >= step);
    return after < 0 ? u.data[0].length - 1 : after;
  }

  /** @param {uPlot} u */
  #readOut(u) {
    const idx = this.#readIndex(u);
    const home = this.#element("chart-readout");
    if (idx === null || idx < 0) {
      setText(home, text.chart.hint);
      return;
    }
    const [train, validation] = [1, 2].map((series) => {
      const at = nearest(u, series, idx);
      return at < 0 ? loss(null) : loss(u.data[series][at]);
    });
    setText(home, text.chart.readout(number(u.data[0][idx]), train, validation));
  }

  /**
   * @param {number} width
   * @returns {uPlot.Options}
   */
  #options(width) {
    const ink = this.#colour("chart-readout");
    // A border of no width: the hairline's colour, resolved for this theme.
    const line = { stroke: getComputedStyle(this.#element("chart")).borderTopColor, width: 1 };
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
        x: { time: false, range: () => [0, Math.max(1, this.picture.live().maxSteps)] },
        y: { range: () => this.#lossRange() },
      },
      axes: [
        { ...axis, label: text.chart.step, labelFont: FONT, labelSize: 20, size: 28, space: 72,
          values: (_, values) => values.map((value) => (value % 1 ? "" : number(value))) },
        { ...axis, size: 40, space: 36,
          values: (_, values) => values.map((value) => String(Number(value.toFixed(3)))) },
      ],
      series: [
        {},
        { label: text.chart.train, stroke: this.#colour("key-train"), width: 1.5, spanGaps: true,
          points: { show: (u) => u.data[0].length < 3 } },
        { label: text.chart.validation, stroke: this.#colour("key-validation"), width: 2,
          dash: [6, 4], spanGaps: true,
          points: { show: true, size: 6, fill: this.#colour("key-validation") } },
      ],
      hooks: {
        draw: [(u) => this.#drawBaseline(u)], setCursor: [(u) => this.#readOut(u)],
      },
    };
  }

  /**
   * Moves the read-out from point to point.
   * @param {KeyboardEvent} event
   */
  #walk(event) {
    const plot = this.#plot;
    if (!plot || plot.data[0].length === 0) return;
    const last = plot.data[0].length - 1;
    const at = this.#readIndex(plot) ?? (event.key === "ArrowRight" ? -1 : last + 1);
    /** @type {Record<string, number>} */
    const moves = {
      ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0,
      End: last,
    };
    if (event.key === "Escape") {
      this.#reading = null;
      plot.setCursor({ left: -10, top: -10 });
    }
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const index = Math.max(0, Math.min(last, to));
    this.#reading = plot.data[0][index];
    plot.setCursor({ left: plot.valToPos(this.#reading, "x"), top: 1 });
    this.#readOut(plot);
  }
}

/**
 * The chart of a picture, drawn whenever its run has news.
 * @param {Picture} picture
 */
export function setUpChart(picture) {
  const chart = new LossChart(picture);
  const { live } = picture;
  watch((m) => [live(), live().version, live().run, live().maxSteps, m.presets, m.place],
    () => chart.draw());
  return chart;
}

/** The explanation stands in the picture of Train until there is a curve. */
export function setUpExplanation() {
  watch((m) => [m.live, m.live.version, m.live.run, m.phase], () => {
    const curve = model.live.run !== null || model.live.history.train.length > 0;
    byId("explanation").hidden = curve;
    byId("intro").hidden = curve && ["ready", "crashed"].includes(model.phase);
  });
}
