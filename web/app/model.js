/**
 * What the page knows, in one place. Panels `watch` the parts they draw; all drawing happens in
 * one animation frame, so a burst of messages costs one update and a hidden tab draws nothing.
 */

import { LossHistory } from "./history.js";

/** @typedef {import("./types.js").Run} Run */
/** @typedef {import("./types.js").Sample} Sample */
/**
 * The run in the picture. Its name is known from its first event, the rest from a reply; `memory`
 * is what was estimated for it, or 0.
 * @typedef {{name: string, run: Run | null, state: string, step: number, maxSteps: number,
 *   history: LossHistory, version: number, samples: Sample[],
 *   answers: import("./types.js").Answers[], memory: number,
 *   pace: import("./types.js").Pace | null, checkpoint: number | null}} Live
 */
/**
 * @typedef {{phase: "booting" | "ready" | "failed" | "crashed",
 *   device: import("./types.js").Device | null, presets: import("./types.js").Preset[],
 *   corpora: import("./types.js").Corpus[], runs: Run[],
 *   defaults: import("./types.js").Settings | null,
 *   settings: import("./types.js").Settings | null, corpus: string | null,
 *   stages: import("./types.js").Stage[], wanted: boolean, pending: string | null,
 *   comeBack: Run | null, place: string, live: Live,
 *   library: Library, talk: Talk, tune: Tune}} Model
 */
/**
 * The Fine-tune place: what is chosen there and was found out about it, and the run in its
 * picture. `compare` is the step whose answers stand beside those before, or null for the latest.
 * @typedef {{base: string, corpus: string | null, skipBad: boolean,
 *   settings: import("./types.js").FineTuneSettings | null,
 *   usual: import("./types.js").FineTuneSettings | null, targets: string[], longest: number,
 *   facts: import("./types.js").DataFacts | null, reading: boolean, rows: number,
 *   estimate: import("./types.js").FineTuneEstimate | null, limit: number | null,
 *   pending: string | null,
 *   comeBack: Run | null, compare: number | null, live: Live,
 *   adapters: import("./types.js").Adapter[]}} Tune
 */
/**
 * What is known before a download that was asked about; `at` is the row it belongs to. `refused`
 * says that its host wants an access token.
 * @typedef {{at: string, source: string, title: string,
 *   facts: import("./types.js").ModelFacts | null,
 *   refused: import("./types.js").Problem | null}} Sheet
 */
/**
 * The bytes of a model on their way: of one file, and of all.
 * @typedef {{title: string, copied: boolean, cancelling: boolean, file: string, fileDone: number,
 *   fileBytes: number, done: number, bytes: number, secondsLeft: number | null}} Transfer
 */
/**
 * Models: those that are offered, those that are here, and the one on the GPU.
 * @typedef {{known: boolean, catalogue: import("./types.js").CatalogueModel[],
 *   models: import("./types.js").StoredModel[], used: number, quota: number | null,
 *   persistent: boolean, loaded: import("./types.js").Loaded | null, loading: string,
 *   stages: import("./types.js").Stage[], sheet: Sheet | null,
 *   transfer: Transfer | null}} Library
 */
/**
 * The conversation in sight, and those that are kept. `editing` is the message that is being
 * written anew, or -1; `draft` grows as an answer comes.
 * @typedef {{known: boolean, conversation: import("./types.js").Conversation,
 *   kept: import("./types.js").Conversation[], chosen: string, writing: boolean,
 *   stopping: boolean, editing: number, answer: Answer | null}} Talk
 */
/**
 * What an answer cost, and who wrote it: `adapter` says which adapter was on, in words.
 * @typedef {{usage: import("./types.js").Usage, finish_reason: string, seed: number,
 *   adapter: string}} Answer
 */

/** @returns {Live} */
export function emptyLive() {
  return {
    name: "", run: null, state: "idle", step: 0, maxSteps: 0, history: new LossHistory(),
    version: 0, samples: [], answers: [], memory: 0, pace: null, checkpoint: null,
  };
}

/** @returns {Library} */
export function emptyLibrary() {
  return {
    known: false, catalogue: [], models: [], used: 0, quota: null, persistent: false,
    loaded: null, loading: "", stages: [], sheet: null, transfer: null,
  };
}

/** @returns {import("./types.js").Conversation} */
export function emptyConversation() {
  // Letters, digits and hyphens: it is the name of a file.
  const name = `chat-${Date.now().toString(36)}-${crypto.randomUUID().slice(0, 8)}`;
  return {
    conversation: name, title: "", model: "", system: "", messages: [], settings: {},
    updated_at: 0,
  };
}

/** @returns {Talk} */
function emptyTalk() {
  return {
    known: false, conversation: emptyConversation(), kept: [], chosen: "", writing: false,
    stopping: false, editing: -1, answer: null,
  };
}

/** Rows of the preview that are asked for at first. */
export const PREVIEW_ROWS = 8;

/** @returns {Tune} */
function emptyTune() {
  return {
    base: "", corpus: null, skipBad: false, settings: null, usual: null, targets: [], longest: 1,
    facts: null, reading: false, rows: PREVIEW_ROWS, estimate: null, limit: null,
    pending: null, comeBack: null, compare: null, live: emptyLive(), adapters: [],
  };
}

/** @type {Model} */
export const model = {
  phase: "booting", device: null, presets: [], corpora: [], runs: [], defaults: null,
  settings: null, corpus: null, stages: [], wanted: false, pending: null, comeBack: null,
  place: "train", live: emptyLive(), library: emptyLibrary(), talk: emptyTalk(),
  tune: emptyTune(),
};

/** @type {{select: (m: Model) => unknown[], draw: () => void, seen: unknown[] | null}[]} */
const watchers = [];
let scheduled = false;

function drawAll() {
  scheduled = false;
  for (const watcher of watchers) {
    const now = watcher.select(model);
    if (watcher.seen?.every((value, i) => Object.is(value, now[i]))) continue;
    watcher.seen = now;
    watcher.draw();
  }
}

/** Says that the model changed: what watches the changed parts is drawn in the next frame. */
export function changed() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(drawAll);
}

/**
 * State that one panel alone knows: what watches its `version` is drawn again after `redraw()`.
 * @template {object} T
 * @param {T} fields
 */
export function ownState(fields) {
  const state = {
    ...fields, version: 0, redraw: () => {
      state.version += 1;
      changed();
    },
  };
  return state;
}

/**
 * Draws now and whenever one of the selected values is another.
 * @param {(m: Model) => unknown[]} select
 * @param {() => void} draw
 */
export function watch(select, draw) {
  watchers.push({ select, draw, seen: null });
  changed();
}

/**
 * Whether the worker is at work on a run: the one in the picture of Train, or another.
 * @param {Live} [live]
 */
export function isActive(live = model.live) {
  return ["running", "paused", "stopping"].includes(live.state);
}

/** The run that has the worker: that of Fine-tune while one is at work, else that of Train. */
export function activeLive() {
  return isActive(model.tune.live) ? model.tune.live : model.live;
}

/** Whether the worker is at work on any run. */
export function isBusy() {
  return isActive(activeLive());
}

/**
 * The place of a run: the whole page for one of Train, its own for one of Fine-tune. Both have
 * `live`, `pending` and `comeBack`.
 * @param {Run | null | undefined} run
 * @returns {Model | Tune}
 */
export function homeOf(run) {
  return run?.kind === "finetune" ? model.tune : model;
}
