/** The form of the settings: three in sight, the rest behind "All settings". */

import { byId, fill, make, setText } from "./dom.js";
import { number, parameters } from "./format.js";
import { changed, isActive, model, watch } from "./model.js";
import { FIELDS, MORE, SHOWN, fromQuery, parse, toQuery } from "./settings.js";
import { text } from "./strings.js";
import { vocabularyOf } from "./vocabulary.js";

/** @typedef {import("./types.js").Settings} Settings */
/** @typedef {import("./settings.js").Field} Field */

/** Names of the fields whose text is not a value at present. */
/** @type {Set<string>} */
const wrong = new Set();

/**
 * The usual settings of a preset, as the worker gave them.
 * @param {string} name
 * @returns {Settings | null}
 */
function usual(name) {
  return model.presets.find((known) => known.name === name)?.settings ?? null;
}

/** The preset that needs no mention in a link: the one that the worker begins with. */
function usualPreset() {
  return String(model.defaults?.preset);
}

/**
 * The settings for another preset: what was changed by hand stays, the rest is as usual there.
 * @param {Settings} settings
 * @param {string} name
 * @returns {Settings}
 */
function switchPreset(settings, name) {
  const before = usual(settings.preset);
  const after = { ...settings, ...usual(name) };
  const limit = model.presets.find((known) => known.name === name)?.context_length ?? 1;
  for (const { name: field } of FIELDS) {
    if (field !== "preset" && settings[field] !== before?.[field]) after[field] = settings[field];
  }
  after.context_length = Math.min(after.context_length, limit);
  chooseText(settings.preset, name);
  return after;
}

/**
 * A preset that reads words comes with its text, which is of no use to the others.
 * @param {string} before
 * @param {string} name
 */
function chooseText(before, name) {
  const own = (/** @type {string} */ preset) =>
    model.presets.find((known) => known.name === preset)?.corpus;
  const text = own(name);
  if (text) model.corpus = text;
  else if (model.corpus === own(before)) model.corpus = model.corpora[0]?.sha256 ?? null;
}

/** @param {Field} field */
function range(field) {
  const kind = field.kind === "integer" ? text.settings.whole : text.settings.any;
  const write = field.kind === "integer" ? number : String;
  const [min, max] = [field.min ?? 0, highest(field) ?? Infinity];
  return Number.isFinite(max) ? text.settings.between(kind, write(min), write(max))
    : text.settings.atLeast(kind, write(min));
}

/** @param {Field} field */
function highest(field) {
  if (field.name !== "context_length") return field.max;
  return model.presets.find((known) => known.name === model.settings?.preset)?.context_length;
}

/** Whether every field holds a value; focuses the first that does not. */
export function checkSettings() {
  const bad = FIELDS.find((field) => wrong.has(field.name));
  if (!bad) return true;
  const input = byId(bad.name);
  input.closest("details")?.setAttribute("open", "");
  input.focus();
  return false;
}

/**
 * Takes one field's text into the settings, or says what it should be.
 * @param {Field} field
 * @param {HTMLInputElement | HTMLSelectElement} input
 */
function take(field, input) {
  if (!model.settings) return;
  const value = parse({ ...field, max: highest(field) }, input.value);
  const note = byId(`${field.name}-wrong`);
  setText(note, value === null
    ? text.settings.invalid(text.settings.names[field.name][0], range(field)) : "");
  if (value === null) {
    input.setAttribute("aria-invalid", "true");
    wrong.add(field.name);
    return;
  }
  input.removeAttribute("aria-invalid");
  wrong.delete(field.name);
  model.settings = field.kind === "preset"
    ? switchPreset(model.settings, String(value))
    : { ...model.settings, [field.name]: value };
  changed();
}

/** @param {Field} field */
function control(field) {
  const common = { id: field.name, name: field.name, "aria-describedby": `${field.name}-hint` };
  if (field.kind === "preset") return make("select", common);
  if (field.choices) {
    return make("select", common, field.choices.map((value) =>
      make("option", { value, text: text.settings.choices[field.name][value] })));
  }
  return make("input", {
    ...common, type: "number", step: field.kind === "integer" ? 1 : "any", min: field.min ?? 0,
    inputmode: field.kind === "integer" ? "numeric" : "decimal", autocomplete: "off",
  });
}

/** @param {Field} field */
function row(field) {
  const [label, hint] = text.settings.names[field.name];
  const input = control(field);
  input.addEventListener("input", () => take(field, input));
  const reset = make("button", {
    type: "button", class: "quiet", id: `${field.name}-reset`, text: text.settings.reset,
    "aria-label": `${text.settings.reset} ${label}`,
    onclick: () => {
      const value = usual(String(model.settings?.preset))?.[field.name];
      if (value === undefined) return;
      input.value = String(field.kind === "preset" ? usualPreset() : value);
      take(field, input);
      input.focus();
    },
  });
  return make("div", { class: "field setting", id: `${field.name}-field` }, [
    make("label", { for: field.name, text: label }),
    make("span", { class: "entry" }, [
      input, make("span", { class: "unit", id: `${field.name}-unit`,
        text: text.settings.units[field.name] ?? "" }), reset,
    ]),
    make("p", { class: "note", id: `${field.name}-hint` }, [
      hint, " ", make("span", { id: `${field.name}-usual`, class: "usual" }),
    ]),
    make("p", { class: "wrong", id: `${field.name}-wrong`, role: "status" }),
  ]);
}

function drawPresets() {
  const select = /** @type {HTMLSelectElement} */ (byId("preset"));
  fill(select, model.presets.map((preset) => make("option", {
    value: preset.name,
    text: text.settings.option(preset.name, parameters(preset.parameters)),
  })));
}

/** What is not a value no longer counts, nor is it said. @param {Field} field */
function forget(field) {
  wrong.delete(field.name);
  setText(byId(`${field.name}-wrong`), "");
  byId(field.name).removeAttribute("aria-invalid");
}

function drawValues() {
  const { settings } = model;
  for (const field of FIELDS) {
    const input = /** @type {HTMLInputElement | HTMLSelectElement} */ (byId(field.name));
    input.disabled = settings === null;
    byId(`${field.name}-reset`).hidden = settings === null;
    if (!settings) continue;
    const value = String(settings[field.name]);
    if (!wrong.has(field.name) && input.value !== value) input.value = value;
    const common = field.kind === "preset"
      ? usualPreset() : usual(settings.preset)?.[field.name];
    const differs = settings[field.name] !== common;
    byId(`${field.name}-reset`).hidden = !differs && !wrong.has(field.name);
    const words = text.settings.choices[field.name]?.[String(common)] ?? String(common);
    setText(byId(`${field.name}-usual`), text.settings.usual(words));
    const serves = field.optim?.includes(String(settings.optim)) ?? true;
    byId(`${field.name}-field`).hidden = !serves;
    if (!serves) forget(field);
  }
  const preset = model.presets.find((known) => known.name === settings?.preset);
  setText(byId("context_length-unit"), vocabularyOf(preset).many);
  const own = model.live.run?.settings;
  const differs = isActive() && FIELDS.some(({ name }) =>
    settings && own && name in own && own[name] !== settings[name]);
  setText(byId("preset-summary"), [
    preset ? text.settings.parameters(number(preset.parameters), preset.summary)
      : text.settings.waiting,
    differs ? text.settings.differs : "",
  ].join(" ").trim());
}

function writeQuery() {
  const { settings } = model;
  const defaults = settings && usual(settings.preset);
  if (!settings || !defaults) return;
  const query = new URLSearchParams(location.search);
  toQuery(settings, defaults, usualPreset(), query);
  const search = query.size > 0 ? `?${query}` : "";
  history.replaceState(null, "", location.pathname + search + location.hash);
}

/** The settings that the visit begins with: the usual ones, changed by what the link says. */
export function beginSettings() {
  const first = usual(usualPreset()) ?? model.defaults;
  if (!first || model.settings) return;
  model.settings = fromQuery(first, new URLSearchParams(location.search), usual);
  chooseText("", model.settings.preset);
  changed();
}

/** Sets up the form; the values come with the boot reply. */
export function setUpSettings() {
  fill(byId("settings-shown"), SHOWN.map(row));
  fill(byId("settings-more"), MORE.map(row));
  byId("settings-reset").addEventListener("click", () => {
    FIELDS.forEach(forget);
    chooseText(model.settings?.preset ?? "", usualPreset());
    model.settings = usual(usualPreset());
    changed();
  });
  watch((m) => [m.presets], drawPresets);
  watch((m) => [m.settings], writeQuery);
  watch((m) => [m.settings, m.live.run, m.live.state], drawValues);
}
