/** What is to be measured: the model, its adapter, the kind of measurement and its options. */

import { startWords } from "./boot.js";
import { byId, fill, fillKeepingFocus, make, setText } from "./dom.js";
import { KINDS, judge } from "./evaluate_state.js";
import { bytes } from "./format.js";
import { usable } from "./library.js";
import { changed, homeOf, model, watch } from "./model.js";
import { adaptersOf } from "./adapters.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/**
 * The options of each kind, with what is usual; null where the worker chooses. The first stands
 * in sight.
 * @type {Record<string, Record<string, number | null>>}
 */
const OPTIONS = {
  text: { share: 1, context_length: null, overlap: null },
  tasks: { writing: 3, context_length: null },
  conditions: { shots: 3, max_new_tokens: 24, context_length: null },
  memorisation: { prefixes: 32, prefix_characters: 80, max_new_tokens: 64, seed: 0,
    context_length: null },
};

/** Runs of ours with a checkpoint: they are models too. */
function ownRuns() {
  return model.runs.filter((run) => homeOf(run) === model && run.step > 0);
}

/** Chooses a model while none is chosen, or when the chosen one has gone; likewise an adapter. */
function choose() {
  const { library, talk } = model;
  const isHere = (/** @type {string} */ name) => usable().some((one) => one.model === name)
    || ownRuns().some((run) => run.run === name);
  if (library.known && !isHere(judge.model)) {
    const wanted = [library.loaded?.model.model ?? "", talk.chosen, model.tune.base];
    judge.model = wanted.find(isHere) ?? usable()[0]?.model ?? ownRuns()[0]?.run ?? "";
  }
  if (judge.adapter && !adaptersOf(judge.model).some((one) => one.adapter === judge.adapter)) {
    judge.adapter = "";
  }
}

function drawModels() {
  choose();
  const words = text.evaluate.form;
  const select = /** @type {HTMLSelectElement} */ (byId("evaluate-model"));
  const group = (/** @type {string} */ label, /** @type {HTMLOptionElement[]} */ options) =>
    (options.length ? [make("optgroup", { label }, options)] : []);
  const option = text.finetune.base.option;
  fill(select, [
    ...group(words.models, usable().map((one) => make("option", {
      value: one.model, text: option(one.title, bytes(one.bytes)) }))),
    ...group(words.runs, ownRuns().map((run) => make("option", {
      value: run.run, text: option(run.run, run.preset) }))),
  ]);
  select.value = judge.model;
  select.disabled = select.options.length === 0;
  const adapters = adaptersOf(judge.model);
  const which = /** @type {HTMLSelectElement} */ (byId("evaluate-adapter"));
  fill(which, [make("option", { value: "", text: words.none }), ...adapters.map((one) =>
    make("option", { value: one.adapter, text: one.title }))]);
  which.value = judge.adapter;
  which.disabled = adapters.length === 0;
  const known = model.phase === "ready" && model.library.known;
  setText(byId("evaluate-model-state"), !known ? startWords() || words.waiting
    : !judge.model ? words.noModel : adapters.length === 0 ? words.noAdapter : "");
}

function drawKinds() {
  const words = text.evaluate.form.kinds;
  fillKeepingFocus(byId("evaluate-kinds"), KINDS.map((kind) => {
    const id = `evaluate-kind-${kind}`;
    const radio = make("input", { type: "radio", name: "evaluate-kind", id, value: kind,
      "aria-describedby": `${id}-note`, onchange: () => {
        judge.kind = kind;
        clearProblem(byId("evaluate-problem"));
        changed();
      } });
    radio.checked = judge.kind === kind;
    return make("div", { class: "kind" }, [
      make("label", { class: "option", for: id }, [radio,
        make("span", { text: words[kind][0] })]),
      make("p", { class: "note", id: `${id}-note`, text: words[kind][1] }),
    ]);
  }));
}

/** The key of what was typed: answers of two kinds are not of one length. @param {string} name */
const key = (name) => `${judge.kind} ${name}`;

/** @param {string} name @param {number | null} usual */
function option(name, usual) {
  const [label, note] = text.evaluate.options.names[name];
  const id = `evaluate-${name}`;
  const take = (/** @type {string} */ value) => {
    judge.typed[key(name)] = value;
    clearProblem(byId("evaluate-problem"));
  };
  const typed = judge.typed[key(name)];
  const describe = { id, "aria-describedby": `${id}-note` };
  /** @type {HTMLInputElement | HTMLSelectElement} */
  let control;
  if (name === "share") {
    control = make("select", { ...describe, onchange: () => take(control.value) },
      Object.entries(text.evaluate.options.shares).map(([value, words]) =>
        make("option", { value, text: words })));
    control.value = typed ?? String(usual);
  } else {
    control = make("input", { ...describe, type: "number", min: 0, step: 1, autocomplete: "off",
      inputmode: "numeric", placeholder: usual === null ? text.evaluate.options.usual : usual,
      oninput: () => take(control.value) });
    control.value = typed ?? "";
  }
  return make("div", { class: "field setting" }, [
    make("label", { for: id, text: label }), control,
    make("p", { class: "note", id: `${id}-note`, text: note })]);
}

function drawOptions() {
  const [first, ...rest] = Object.entries(OPTIONS[judge.kind]);
  fillKeepingFocus(byId("evaluate-options-shown"), [option(...first)]);
  fillKeepingFocus(byId("evaluate-options"), rest.map((one) => option(...one)));
}

/**
 * The options that differ from the usual.
 * @returns {Record<string, number> | null} null where one is no whole number: its control says so
 */
export function chosenOptions() {
  /** @type {Record<string, number>} */
  const chosen = {};
  for (const [name, usual] of Object.entries(OPTIONS[judge.kind])) {
    const control = /** @type {HTMLInputElement} */ (byId(`evaluate-${name}`));
    const typed = control.value.trim();
    const value = Number(typed);
    // A field of numbers that holds something else is empty to a program.
    const broken = control.validity.badInput
      || (typed !== "" && name !== "share" && !Number.isSafeInteger(value));
    if (broken) {
      const message = text.evaluate.options.whole(text.evaluate.options.names[name][0]);
      showProblem({ code: "settings", control: `evaluate-${name}`, message },
        byId("evaluate-problem"));
      return null;
    }
    if (typed !== "" && value !== usual) chosen[name] = value;
  }
  return chosen;
}

/** Sets up the choices. */
export function setUpEvaluateForm() {
  const select = /** @type {HTMLSelectElement} */ (byId("evaluate-model"));
  const which = /** @type {HTMLSelectElement} */ (byId("evaluate-adapter"));
  select.addEventListener("change", () => {
    judge.model = select.value;
    clearProblem(byId("evaluate-problem"));
    changed();
  });
  which.addEventListener("change", () => {
    judge.adapter = which.value;
    clearProblem(byId("evaluate-problem"));
    changed();
  });
  watch((m) => [m.library.models, m.library.known, m.library.loaded, m.runs, m.tune.adapters,
    m.phase, m.phase === "ready" ? null : m.stages, judge.model, judge.adapter], drawModels);
  watch(() => [judge.kind], () => {
    drawKinds();
    drawOptions();
  });
}
