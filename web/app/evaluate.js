/** "What did it learn?": measuring a model, how far that is, Stop, and how it ended. */

import { stageAmount, stageName } from "./boot.js";
import { byId, setText } from "./dom.js";
import { chosenOptions, setUpEvaluateForm } from "./evaluate_form.js";
import { setUpEvaluateKept, show } from "./evaluate_kept.js";
import { setUpEvaluateResult } from "./evaluate_result.js";
import { here, judge, needs } from "./evaluate_state.js";
import { setUpEvaluateSubject } from "./evaluate_subject.js";
import { duration, number } from "./format.js";
import { wasCancelled } from "./library.js";
import { changed, isBusy, model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Message} Message */

/** @param {string} words for those who do not see the bar, too */
function say(words) {
  setText(byId("evaluate-said"), words);
}

/** The fields of the command; null where something is missing: its control says so. */
function question() {
  const home = byId("evaluate-problem");
  const { form, subject } = text.evaluate;
  clearProblem(home);
  if (!judge.model) {
    showProblem({ code: "settings", message: form.chooseModel, control: "evaluate-model" }, home);
    return null;
  }
  const wanted = needs();
  if (wanted.text && !wanted.mayLackText && !judge.corpus) {
    showProblem({ code: "settings", message: subject.nothing, control: "evaluate-corpus" }, home);
    return null;
  }
  const options = chosenOptions();
  return options && { model: judge.model, adapter: judge.adapter || null, kind: judge.kind,
    corpus: wanted.text && judge.corpus ? judge.corpus : null,
    tasks: wanted.tasks ? judge.tasks : null, options };
}

/** @param {Client} client */
async function measure(client) {
  const fields = question();
  if (!fields) return;
  const words = text.evaluate.actions;
  Object.assign(judge, { busy: true, stopping: false, progress: null });
  say(words.begun);
  changed();
  try {
    const { evaluation } = await client.command("evaluate", fields);
    show(evaluation);
    say(words.done(evaluation.title));
  } catch (reason) {
    say(wasCancelled(reason) ? words.stopped : "");
    if (!wasCancelled(reason) && model.phase !== "crashed") {
      showProblem(here(reason), byId("evaluate-problem"));
    }
  } finally {
    Object.assign(judge, { busy: false, stopping: false, progress: null });
    changed();
  }
}

/** @param {Client} client */
async function stop(client) {
  judge.stopping = true;
  changed();
  try {
    await client.command("abort");
  } catch (reason) {
    judge.stopping = false;
    changed();
    if (model.phase !== "crashed") showProblem(here(reason), byId("evaluate-problem"));
  }
}

/** @param {Message} message */
function hear(message) {
  if (!judge.busy) return;
  const words = text.evaluate.actions;
  if (message.name === "stage") {
    const stage = /** @type {import("./types.js").Stage} */ (/** @type {any} */ (message));
    const { done, total } = stage;
    judge.progress = { stage: stageName(stage), amount: stageAmount(stage), left: null,
      share: total > 0 ? done / total : null };
    // They are of this measurement, not of what the other places do.
    model.stages = [];
    changed();
  }
  if (message.name === "evaluation_progress") {
    const { stage, done, total, seconds_left: left } = message;
    judge.progress = { stage, left: left ?? null,
      amount: total > 1 ? words.of(number(done), number(total)) : "",
      share: total > 1 ? done / total : null };
    changed();
  }
}

/** Turns replies into the panel's state, whoever gave the command. */
const REPLIES = /** @type {Record<string, (result: any) => void>} */ ({
  evaluations: ({ evaluations }) => { judge.kept = evaluations; },
  delete_evaluation: ({ evaluations }) => { judge.kept = evaluations; },
  evaluate: ({ evaluation }) => {
    judge.kept = [evaluation, ...judge.kept.filter((one) =>
      one.evaluation !== evaluation.evaluation)];
  },
});

function drawActions() {
  const words = text.evaluate.actions;
  const start = /** @type {HTMLButtonElement} */ (byId("evaluate-start"));
  const halt = /** @type {HTMLButtonElement} */ (byId("evaluate-stop"));
  setText(start, judge.busy ? words.busy : words.start);
  // Not while it measures: a button that is switched off loses the keyboard's focus.
  start.disabled = model.phase !== "ready";
  start.setAttribute("aria-busy", String(judge.busy));
  halt.hidden = !judge.busy;
  halt.disabled = judge.stopping;
  setText(halt, judge.stopping ? words.stopping : words.stop);
  const { progress } = judge;
  const bar = /** @type {HTMLProgressElement} */ (byId("evaluate-bar"));
  bar.hidden = !judge.busy;
  if (progress?.share === null || !progress) bar.removeAttribute("value");
  else bar.value = progress.share;
  const at = progress ? words.at(progress.stage, progress.amount) : "";
  setText(byId("evaluate-at"), progress?.left != null
    ? words.left(at, duration(progress.left)) : at);
  setText(byId("evaluate-trains"), isBusy() && model.phase === "ready" ? words.trains : "");
}

/** @param {Client} client */
export function setUpEvaluate(client) {
  client.onReply((name, _, result) => {
    if (!(name in REPLIES)) return;
    REPLIES[name](result);
    changed();
  });
  client.onMessage(hear);
  for (const link of document.querySelectorAll('a[href="#/finetune/evaluate"]')) {
    // Where the address is that of the panel already, it does not change.
    link.addEventListener("click", () => byId("evaluate-heading").focus());
  }
  byId("evaluate-start").addEventListener("click", () => {
    if (!judge.busy) void measure(client);
  });
  byId("evaluate-stop").addEventListener("click", () => void stop(client));
  setUpEvaluateForm();
  setUpEvaluateSubject(client);
  setUpEvaluateResult(client);
  setUpEvaluateKept(client);
  watch((m) => [judge.busy, judge.stopping, judge.progress, m.phase, m.live.state,
    m.tune.live.state], drawActions);
}
