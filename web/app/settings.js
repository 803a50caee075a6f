/** The settings of a run: which there are, what values they take, and their place in the URL. */

/** @typedef {import("./types.js").Settings} Settings */
/**
 * `optim` names the optimisers that a field is of; it is of all where it names none.
 * @typedef {{name: string, kind: "preset" | "choice" | "flag" | "integer" | "number",
 *   choices?: string[], min?: number, max?: number, step?: number, optim?: string[]}} Field
 */

const SCHEDULES = ["cosine", "linear", "constant", "warmup_stable_decay"];
const ACTIVATIONS = ["float32", "bfloat16", "float16"];
const OPTIMISERS = ["adamw", "sgd", "lion", "muon"];

/** @type {Field[]} The three that matter, always in sight. */
export const SHOWN = [
  { name: "preset", kind: "preset" },
  { name: "max_steps", kind: "integer", min: 1, max: 100_000_000 },
  { name: "per_device_train_batch_size", kind: "integer", min: 1, max: 4096 },
];

/** @type {Field[]} Behind "All settings". */
export const MORE = [
  { name: "context_length", kind: "integer", min: 1 },
  { name: "gradient_accumulation_steps", kind: "integer", min: 1, max: 64 },
  { name: "learning_rate", kind: "number", min: 0, max: 1 },
  { name: "lr_scheduler_type", kind: "choice", choices: SCHEDULES },
  { name: "warmup_steps", kind: "integer", min: 0, max: 100_000_000 },
  { name: "optim", kind: "choice", choices: OPTIMISERS },
  { name: "momentum", kind: "number", min: 0, max: 0.999999, optim: ["sgd", "muon"] },
  { name: "nesterov", kind: "flag", choices: ["true", "false"], optim: ["sgd", "muon"] },
  { name: "weight_decay", kind: "number", min: 0, max: 10 },
  { name: "max_grad_norm", kind: "number", min: 0, max: 1e9 },
  { name: "adam_beta1", kind: "number", min: 0, max: 0.999999, optim: ["adamw", "lion", "muon"] },
  { name: "adam_beta2", kind: "number", min: 0, max: 0.999999, optim: ["adamw", "lion", "muon"] },
  { name: "adam_epsilon", kind: "number", min: 1e-12, max: 1, optim: ["adamw", "muon"] },
  { name: "gradient_checkpointing", kind: "flag", choices: ["true", "false"] },
  { name: "activation_dtype", kind: "choice", choices: ACTIVATIONS },
  { name: "eval_steps", kind: "integer", min: 0, max: 100_000_000 },
  { name: "sample_steps", kind: "integer", min: 0, max: 100_000_000 },
  { name: "save_steps", kind: "integer", min: 1, max: 100_000_000 },
  { name: "logging_steps", kind: "integer", min: 1, max: 100_000_000 },
  { name: "seed", kind: "integer", min: 0, max: 4294967295 },
];

export const FIELDS = [...SHOWN, ...MORE];

/**
 * Reads one value as its field wants it, or null when it is not one.
 * @param {Field} field
 * @param {string} value
 * @returns {string | number | boolean | null}
 */
export function parse(field, value) {
  if (field.kind === "preset") return value;
  if (field.choices && !field.choices.includes(value)) return null;
  if (field.kind === "choice") return value;
  if (field.kind === "flag") return value === "true";
  const parsed = value.trim() === "" ? NaN : Number(value);
  if (!Number.isFinite(parsed)) return null;
  if (field.kind === "integer" && !Number.isInteger(parsed)) return null;
  if (field.min !== undefined && parsed < field.min) return null;
  if (field.max !== undefined && parsed > field.max) return null;
  return parsed;
}

/**
 * The defaults, changed by what the URL says.
 * @param {Settings} defaults
 * @param {URLSearchParams} query
 * @param {(preset: string) => Settings | null} forPreset defaults for another preset
 * @returns {Settings}
 */
export function fromQuery(defaults, query, forPreset) {
  const preset = query.get("preset");
  const settings = { ...((preset && forPreset(preset)) || defaults) };
  for (const field of FIELDS) {
    const value = query.get(field.name);
    if (value === null || field.kind === "preset") continue;
    const parsed = parse(field, value);
    if (parsed !== null) settings[field.name] = parsed;
  }
  return settings;
}

/**
 * Writes what differs from the defaults into a query, and takes the rest out of it.
 * @param {Settings} settings
 * @param {Settings} defaults of the preset in `settings`
 * @param {string} usualPreset the preset that needs no mention
 * @param {URLSearchParams} query changed in place
 */
export function toQuery(settings, defaults, usualPreset, query) {
  for (const { name } of FIELDS) {
    const usual = name === "preset" ? usualPreset : defaults[name];
    if (settings[name] === usual) query.delete(name);
    else query.set(name, String(settings[name]));
  }
}
