/** The form of a fine-tune's settings: some in sight, the rest behind "All settings". */

import { byId, fill, make, setText } from "./dom.js";
import { number } from "./format.js";
import { FIELDS, MORE, SHOWN, idOf, parse, partNames, promptsOf, read, same, write }
  from "./finetune_settings.js";
import { changed, isActive, model, watch } from "./model.js";
import { text } from "./strings.js";

/** @typedef {import("./finetune_settings.js").Field} Field */

/** Paths of the fields whose text is not a value at present. */
/** @type {Set<string>} */
const wrong = new Set();

/** The field with the values it can have with the model that is chosen. @param {Field} field */
function limits(field) {
  const { longest } = model.tune;
  return field.path === "context_length"
    ? { ...field, min: Math.min(field.min ?? 1, longest), max: longest } : field;
}

/** @param {Field} field */
function range(field) {
  const kind = field.kind === "integer" ? text.settings.whole : text.settings.any;
  const show = field.kind === "integer" ? number : String;
  const { min = 0, max = Infinity } = limits(field);
  return Number.isFinite(max) ? text.settings.between(kind, show(min), show(max))
    : text.settings.atLeast(kind, show(min));
}

/**
 * @param {Field} field
 * @param {unknown} value
 */
function put(field, value) {
  if (!model.tune.settings) return;
  wrong.delete(field.path);
  setText(byId(`${idOf(field.path)}-wrong`), "");
  byId(idOf(field.path)).removeAttribute("aria-invalid");
  model.tune.settings = write(model.tune.settings, field.path, value);
  changed();
}

/**
 * @param {Field} field
 * @param {string} words why it is no value
 */
function refuse(field, words) {
  wrong.add(field.path);
  setText(byId(`${idOf(field.path)}-wrong`), words);
  byId(idOf(field.path)).setAttribute("aria-invalid", "true");
  byId(`${idOf(field.path)}-reset`).hidden = false;
}

/**
 * @param {Field} field
 * @param {string} value
 */
function takeNumber(field, value) {
  const parsed = parse(limits(field), value);
  const [label] = text.finetune.settings.names[field.path];
  if (parsed === null) refuse(field, text.settings.invalid(label, range(field)));
  else put(field, parsed);
}

/** @param {Field} field */
function takeParts(field) {
  const boxes = byId(idOf(field.path)).querySelectorAll("input");
  const chosen = [...boxes].filter((box) => box.checked).map((box) => box.value);
  if (chosen.length === 0) refuse(field, text.finetune.settings.choose);
  else put(field, chosen);
}

/** A choice in words. @param {string} path @param {string} value */
function choiceWords(path, value) {
  const { choices } = text.finetune.settings;
  return choices[path]?.[value] ?? value;
}

/** @param {Field} field */
function control(field) {
  const id = idOf(field.path);
  const common = { id, "aria-describedby": `${id}-hint` };
  if (field.kind === "choice") {
    return make("select", { ...common, oninput: (event) =>
      put(field, /** @type {HTMLSelectElement} */ (event.target).value) },
    (field.choices ?? []).map((value) =>
      make("option", { value, text: choiceWords(field.path, value) })));
  }
  if (field.kind === "flag") {
    return make("input", { ...common, type: "checkbox", oninput: (event) =>
      put(field, /** @type {HTMLInputElement} */ (event.target).checked) });
  }
  if (field.kind === "parts") {
    return make("div", { ...common, class: "parts", role: "group", tabindex: -1,
      "aria-label": text.finetune.settings.names[field.path][0], oninput: () => takeParts(field) });
  }
  return make("input", {
    ...common, type: "number", step: field.kind === "integer" ? 1 : "any",
    inputmode: field.kind === "integer" ? "numeric" : "decimal", autocomplete: "off",
    oninput: (event) => takeNumber(field, /** @type {HTMLInputElement} */ (event.target).value),
  });
}

/** @param {Field} field */
function row(field) {
  const id = idOf(field.path);
  const words = text.finetune.settings;
  const [label, hint] = words.names[field.path];
  const reset = make("button", {
    type: "button", class: "quiet", id: `${id}-reset`, text: text.settings.reset,
    "aria-label": `${text.settings.reset} ${label}`,
    onclick: () => {
      if (!model.tune.usual) return;
      put(field, read(model.tune.usual, field.path));
      byId(id).focus();
    },
  });
  const name = field.kind === "parts" ? make("span", { class: "label", text: label })
    : make("label", { for: id, text: label });
  return make("div", { class: `field setting ${field.kind}`, id: `${id}-row` }, [
    name,
    make("span", { class: "entry" }, [
      control(field), make("span", { class: "unit", text: words.units[field.path] ?? "" }), reset,
    ]),
    make("p", { class: "note", id: `${id}-hint` }, [
      hint, " ", make("span", { id: `${id}-usual`, class: "usual" }),
    ]),
    make("p", { class: "wrong", id: `${id}-wrong`, role: "status" }),
  ]);
}

/** @param {Field} field @param {any} value */
function valueWords(field, value) {
  if (field.kind === "flag") return value ? text.finetune.settings.on : text.finetune.settings.off;
  if (field.kind === "choice") return choiceWords(field.path, value);
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** @param {Field} field @param {string[]} chosen */
function drawParts(field, chosen) {
  const names = partNames(model.tune.targets, chosen);
  const home = byId(idOf(field.path));
  const known = [...home.querySelectorAll("input")].map((box) => box.value);
  if (!same(known, names)) {
    fill(home, names.map((name) => make("label", { class: "option" }, [
      make("input", { type: "checkbox", value: name, id: `${idOf(field.path)}-${name}` }),
      make("span", { text: name }),
    ])));
  }
  for (const box of home.querySelectorAll("input")) box.checked = chosen.includes(box.value);
}

/** @param {Field} field */
function drawField(field) {
  const { settings, usual } = model.tune;
  const id = idOf(field.path);
  const input = byId(id);
  if (input instanceof HTMLInputElement || input instanceof HTMLSelectElement) {
    input.disabled = settings === null;
  }
  if (input instanceof HTMLInputElement && input.type === "number") {
    const { min = 0, max } = limits(field);
    input.min = String(min);
    input.max = max === undefined ? "" : String(max);
  }
  byId(`${id}-reset`).hidden = true;
  byId(`${id}-row`).hidden = field.lora === true && settings?.method === "full";
  if (!settings || !usual) return;
  const value = read(settings, field.path);
  if (!wrong.has(field.path)) {
    if (field.kind === "parts") drawParts(field, value);
    else if (input instanceof HTMLInputElement && field.kind === "flag") input.checked = value;
    else if (input instanceof HTMLInputElement || input instanceof HTMLSelectElement) {
      if (input.value !== String(value)) input.value = String(value);
    }
  }
  const common = read(usual, field.path);
  byId(`${id}-reset`).hidden = same(value, common) && !wrong.has(field.path);
  setText(byId(`${id}-usual`), text.settings.usual(valueWords(field, common)));
}

function draw() {
  for (const field of FIELDS) drawField(field);
  const { settings, live } = model.tune;
  const prompts = /** @type {HTMLTextAreaElement} */ (byId("finetune-prompts"));
  prompts.disabled = settings === null;
  if (settings && !same(promptsOf(prompts.value), settings.prompts)) {
    prompts.value = settings.prompts.join("\n");
  }
  const own = live.run?.finetune;
  const differs = isActive(live) && own && settings
    && FIELDS.some(({ path }) => !same(read(own, path), read(settings, path)));
  setText(byId("finetune-settings-note"), settings ? (differs ? text.finetune.settings.differs : "")
    : text.finetune.settings.none);
}

/** Forgets what was wrong with every field. */
function forgetWrong() {
  for (const path of wrong) {
    setText(byId(`${idOf(path)}-wrong`), "");
    byId(idOf(path)).removeAttribute("aria-invalid");
  }
  wrong.clear();
}

/**
 * Takes other settings in the place of all.
 * @param {import("./types.js").FineTuneSettings} settings
 */
export function useSettings(settings) {
  forgetWrong();
  model.tune.settings = settings;
  changed();
}

/** Whether every field holds a value; focuses the first that does not. */
export function checkTuneSettings() {
  const bad = FIELDS.find((field) => wrong.has(field.path)
    && !(field.lora && model.tune.settings?.method === "full"));
  if (!bad) return true;
  const input = byId(idOf(bad.path));
  input.closest("details")?.setAttribute("open", "");
  input.focus();
  return false;
}

/** Sets up the form; the values come with a model. */
export function setUpTuneForm() {
  fill(byId("finetune-settings-shown"), SHOWN.map(row));
  fill(byId("finetune-settings-more"), MORE.map(row));
  const prompts = /** @type {HTMLTextAreaElement} */ (byId("finetune-prompts"));
  prompts.addEventListener("input", () => {
    if (!model.tune.settings) return;
    model.tune.settings = { ...model.tune.settings, prompts: promptsOf(prompts.value) };
    changed();
  });
  byId("finetune-settings-reset").addEventListener("click", () => {
    if (model.tune.usual) useSettings({ ...model.tune.usual,
      prompts: model.tune.settings?.prompts ?? [] });
  });
  watch((m) => [m.tune.settings, m.tune.usual, m.tune.targets, m.tune.longest, m.tune.live.run,
    m.tune.live.state], draw);
}
