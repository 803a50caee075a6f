/**
 * Turns replies and events of the worker into the model. It does not matter who gave a command:
 * a button, a link or a program through `window.tabgrad`.
 */

import { changed, emptyLive, homeOf, model } from "./model.js";
import { TUNE_REPLIES } from "./session_finetune.js";
import { LIBRARY_EVENTS, LIBRARY_REPLIES } from "./session_models.js";

/** @typedef {import("./types.js").Run} Run */
/** @typedef {import("./types.js").Message} Message */

/** The place of the run that was spoken of last: answers that name no run are about it.
 * @type {{live: import("./model.js").Live}} */
let spokenOf = model;
/** Whether a fine-tune has been asked for whose name is not known yet. */
let tunes = () => false;

/**
 * The picture of this run: the one in sight, or a new one.
 * @param {string} name
 */
function liveOf(name) {
  const run = model.runs.find((known) => known.run === name) ?? null;
  spokenOf = [model, model.tune].find((home) => home.live.name === name)
    ?? (run ? homeOf(run) : tunes() ? model.tune : model);
  if (spokenOf.live.name !== name) {
    spokenOf.live = { ...emptyLive(), name, run, state: "running", maxSteps: run?.max_steps ?? 0 };
  }
  return spokenOf.live;
}

/** @param {Run} run */
function keepRun(run) {
  model.runs = [run, ...model.runs.filter((known) => known.run !== run.run)];
}

/** @param {Run[]} runs newest first */
export function keepRuns(runs) {
  model.runs = [...runs].sort((a, b) => b.saved_at - a.saved_at);
  for (const home of [model, model.tune]) {
    const mine = runs.find((run) => run.run === home.live.name);
    if (mine) home.live.run = mine;
    else if (home.live.state === "idle") home.live = emptyLive();
    if (!runs.some((run) => run.run === home.comeBack?.run)) home.comeBack = null;
  }
}

/** @param {{run: Run}} result of a command that began a run */
function begun({ run }) {
  keepRun(run);
  const live = liveOf(run.run);
  live.run = run;
  live.maxSteps = run.max_steps;
  homeOf(run).comeBack = null;
}

/** @type {Record<string, (result: any, fields: Record<string, any>) => void>} */
const REPLIES = {
  boot(result) {
    model.device = result.device;
    model.presets = result.presets;
    model.corpora = result.corpora;
    if (!model.corpora.some((corpus) => corpus.sha256 === model.corpus)) {
      model.corpus = model.corpora[0]?.sha256 ?? null;
    }
    model.defaults = result.defaults;
    keepRuns(result.runs);
    model.phase = "ready";
    model.stages = [];
  },
  add_corpus({ corpus }) {
    model.corpora = [...model.corpora.filter((c) => c.sha256 !== corpus.sha256), corpus];
  },
  train: begun,
  finetune: begun,
  restore({ run, history }, { train }) {
    keepRun(run);
    const home = homeOf(run);
    home.live = {
      ...emptyLive(), name: run.run, run, step: run.step, maxSteps: run.max_steps,
      samples: history.samples, answers: history.answers ?? [], state: train ? "running" : "idle",
    };
    home.live.history.add(history.points);
    home.live.history.addValidation(history.validation);
    home.comeBack = null;
    spokenOf = home;
  },
  runs: ({ runs }) => keepRuns(runs),
  delete: ({ runs }) => keepRuns(runs),
  storage: ({ runs }) => keepRuns(runs),
  import: ({ run }) => keepRun(run),
};
for (const name of ["pause", "resume", "step", "stop"]) {
  REPLIES[name] = ({ state, step }) => Object.assign(spokenOf.live, { state, step });
}

/** @type {Record<string, (message: Message) => void>} */
const EVENTS = {
  stage({ stage, done, total, unit }) {
    const fresh = { stage, done, total, unit };
    // While a model is loaded, what takes long is its loading.
    const home = model.library.loading ? model.library : model;
    const at = home.stages.findIndex((known) => known.stage === stage);
    // After the start a self-test may come with any plan: nothing else tells that it is over.
    const over = stage === "self-test" && done >= total && model.phase === "ready";
    home.stages = over ? home.stages.filter((known) => known.stage !== stage) : at < 0
      ? [...home.stages, fresh]
      : home.stages.map((known, i) => (i === at ? fresh : known));
  },
  state({ run, state, step }) {
    const live = run ? liveOf(run) : spokenOf.live;
    Object.assign(live, { state, step });
    if (state !== "running") model.stages = [];
  },
  progress({ run, step, max_steps, points, ...pace }) {
    const live = liveOf(run);
    live.history.add(points);
    live.pace = /** @type {any} */ (pace);
    Object.assign(live, { step, maxSteps: max_steps });
    live.version += 1;
    if (model.stages.length > 0) model.stages = [];
  },
  validation({ run, point }) {
    const live = liveOf(run);
    live.history.addValidation([point]);
    live.version += 1;
  },
  sample({ run, sample }) {
    const live = liveOf(run);
    live.samples = [...live.samples.filter((old) => old.step < sample.step), sample];
  },
  answers({ run, answers }) {
    const live = liveOf(run);
    live.answers = [...live.answers.filter((old) => old.step < answers.step), answers];
  },
  checkpoint({ run, step }) {
    liveOf(run).checkpoint = step;
  },
  done({ run, step }) {
    const live = liveOf(run);
    Object.assign(live, { state: "idle", step });
  },
};

/** @param {import("./client.js").Client} client */
export function setUpSession(client) {
  tunes = () => client.waitsFor("finetune");
  client.onReply((name, fields, result) => {
    REPLIES[name]?.(result, fields);
    TUNE_REPLIES[name]?.(result, fields);
    LIBRARY_REPLIES[name]?.(result, fields);
    changed();
  });
  client.onMessage((message) => {
    EVENTS[message.name]?.(message);
    LIBRARY_EVENTS[message.name]?.(message);
    changed();
  });
}
