/** Writing with a trained run: settings, prompt, text as it comes, Stop. */

import { byId, fill, make, setText } from "./dom.js";
import { loss, milliseconds, number } from "./format.js";
import { homeOf, model, watch } from "./model.js";
import { clearProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

const ENTRIES = [
  { id: "temperature", label: text.generate.temperature, hint: text.generate.hints.temperature,
    min: 0, max: 5, step: "any", value: 0.8 },
  { id: "top_k", label: text.generate.topK, hint: text.generate.hints.topK,
    min: 0, max: 256, step: 1, value: 0 },
  { id: "max_new_tokens", label: text.generate.maxNewTokens,
    hint: text.generate.hints.maxNewTokens, min: 1, max: 100_000, step: 1, value: 200 },
  { id: "generate-seed", label: text.generate.seed, hint: text.generate.hints.seed,
    min: 0, max: 4_294_967_295, step: 1, value: 0 },
];

/** Text that came since the last frame. */
let waiting = "";
let writing = false;

/** @param {string} id */
function value(id) {
  return /** @type {Control} */ (byId(id)).value;
}

/** @param {(typeof ENTRIES)[number]} entry */
function row(entry) {
  return make("div", { class: "field setting" }, [
    make("label", { for: entry.id, text: entry.label }),
    make("span", { class: "entry" }, [make("input", {
      type: "number", id: entry.id, min: entry.min, max: entry.max, step: entry.step,
      value: entry.value, required: true, "aria-describedby": `${entry.id}-hint`,
      autocomplete: "off", inputmode: entry.step === 1 ? "numeric" : "decimal",
    })]),
    make("p", { class: "note", id: `${entry.id}-hint`, text: entry.hint }),
  ]);
}

function drawRuns() {
  const select = /** @type {HTMLSelectElement} */ (byId("generate-run"));
  const chosen = select.value;
  const runs = runsThatWrite();
  const none = runs.length === 0;
  byId("generate-empty").hidden = !none;
  byId("generate-form").hidden = none;
  const { generate } = text;
  setText(byId("generate-empty-words"),
    model.phase === "ready" ? generate.none : generate.waiting);
  fill(select, runs.map((run) => make("option", {
    value: run.run, text: model.live.name === run.run && model.live.state === "running"
      ? generate.current(run.run)
      : generate.option(run.run, number(run.step), loss(run.loss)),
  })));
  if (runs.some((run) => run.run === chosen)) select.value = chosen;
  else if (model.live.name) select.value = model.live.name;
}

/** Runs that write by themselves: a fine-tune writes in Chat, as an adapter. */
function runsThatWrite() {
  return model.runs.filter((run) => homeOf(run) === model);
}

/** The prompt that a run's preset suggests stands there until somebody writes another. */
function suggestPrompt() {
  const prompts = new Map(model.presets.map((preset) => [preset.name, preset.prompt ?? ""]));
  const run = model.runs.find((known) => known.run === value("generate-run"));
  const area = /** @type {HTMLTextAreaElement} */ (byId("prompt"));
  if ([...prompts.values()].includes(area.value)) {
    area.value = prompts.get(run?.preset ?? "") ?? "";
  }
}

/** @param {boolean} yes */
function setWriting(yes) {
  writing = yes;
  const button = /** @type {HTMLButtonElement} */ (byId("generate"));
  button.disabled = yes;
  button.setAttribute("aria-busy", String(yes));
  byId("generate-stop").hidden = !yes;
  byId("output").setAttribute("aria-busy", String(yes));
  if (yes) setText(byId("generate-speed"), text.generate.writing);
}

/**
 * Adds what has come to the page, once a frame.
 * @param {Text} target
 */
function pour(target) {
  const home = byId("output");
  const atEnd = home.scrollHeight - home.scrollTop - home.clientHeight < 40;
  target.appendData(waiting);
  waiting = "";
  if (atEnd) home.scrollTop = home.scrollHeight;
}

/** @param {Client} client */
async function write(client) {
  const home = byId("generate-problem");
  clearProblem(home);
  const prompt = value("prompt");
  const target = document.createTextNode("");
  fill(byId("output"), [make("span", { class: "given", text: prompt }), target]);
  waiting = "";
  setWriting(true);
  let scheduled = false;
  try {
    const result = await client.command("generate", {
      run: value("generate-run"), prompt, max_new_tokens: Number(value("max_new_tokens")),
      temperature: Number(value("temperature")), top_k: Number(value("top_k")),
      seed: Number(value("generate-seed")),
    }, (piece) => {
      waiting += piece;
      if (scheduled) return;
      scheduled = true;
      requestAnimationFrame(() => {
        scheduled = false;
        pour(target);
      });
    });
    pour(target);
    const rate = (1000 * result.tokens) / Math.max(1, result.milliseconds);
    const speed = text.generate.speed(
      number(result.tokens), milliseconds(result.milliseconds), number(rate));
    setText(byId("generate-speed"),
      result.stopped ? `${text.generate.stoppedSpeed}: ${speed}` : speed);
  } catch (reason) {
    setText(byId("generate-speed"), "");
    if (model.phase !== "crashed") showProblem(reason, home);
  } finally {
    setWriting(false);
  }
}

/** @param {Client} client */
export function setUpGenerate(client) {
  fill(byId("generate-controls"), [
    make("div", { class: "field setting" }, [
      make("label", { for: "generate-run", text: text.generate.run }),
      make("span", { class: "entry" }, [make("select", { id: "generate-run" })]),
    ]),
    ...ENTRIES.map(row),
  ]);
  setText(byId("output"), text.generate.placeholder);
  byId("generate-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!writing) void write(client);
  });
  byId("prompt").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || writing) return;
    /** @type {HTMLFormElement} */ (byId("generate-form")).requestSubmit();
  });
  byId("generate-stop").addEventListener("click", async () => {
    try {
      await client.command("abort");
    } catch (reason) {
      showProblem(reason, byId("generate-problem"));
    }
  });
  byId("generate-run").addEventListener("change", suggestPrompt);
  watch((m) => [m.runs, m.phase, m.live.run, m.live.state], drawRuns);
  watch((m) => [m.runs, m.phase, m.live.run], suggestPrompt);
}
