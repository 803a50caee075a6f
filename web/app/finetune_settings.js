/** The settings of a fine-tune: which there are, what values they take. Pure. */

/** @typedef {import("./types.js").FineTuneSettings} FineTuneSettings */
/**
 * A setting; its path names a field of FineTuneSettings, "lora.r" one of its `lora`.
 * @typedef {{path: string, kind: "choice" | "integer" | "number" | "flag" | "parts",
 *   choices?: string[], min?: number, max?: number, lora?: boolean}} Field
 */

const MANY = 100_000_000;

/** Tokens: shorter rows hold no text. */
const SHORTEST = 16;

/** @type {Field[]} What matters, always in sight: how, how much at once, how long, how fast. */
export const SHOWN = [
  { path: "method", kind: "choice", choices: ["lora", "full"] },
  { path: "lora.r", kind: "integer", min: 1, max: 4096, lora: true },
  { path: "context_length", kind: "integer", min: SHORTEST },
  { path: "max_steps", kind: "integer", min: 1, max: MANY },
  { path: "learning_rate", kind: "number", min: 0, max: 1 },
];

/** @type {Field[]} Behind "All settings". */
export const MORE = [
  { path: "per_device_train_batch_size", kind: "integer", min: 1, max: 4096 },
  { path: "gradient_accumulation_steps", kind: "integer", min: 1, max: 64 },
  { path: "packing", kind: "flag" },
  { path: "held_out", kind: "number", min: 0, max: 0.5 },
  { path: "lora.lora_alpha", kind: "number", min: 0.001, max: 1e6, lora: true },
  { path: "lora.lora_dropout", kind: "number", min: 0, max: 0.99, lora: true },
  { path: "lora.use_rslora", kind: "flag", lora: true },
  { path: "lora.target_modules", kind: "parts", lora: true },
  { path: "eval_steps", kind: "integer", min: 0, max: MANY },
  { path: "max_new_tokens", kind: "integer", min: 1, max: 4096 },
  { path: "optim", kind: "choice", choices: ["adamw", "sgd", "lion", "muon"] },
  { path: "lr_scheduler_type", kind: "choice",
    choices: ["cosine", "linear", "constant", "warmup_stable_decay"] },
  { path: "warmup_steps", kind: "integer", min: 0, max: MANY },
  { path: "weight_decay", kind: "number", min: 0, max: 10 },
  { path: "max_grad_norm", kind: "number", min: 0, max: 1e9 },
  { path: "adam_beta1", kind: "number", min: 0, max: 0.999999 },
  { path: "adam_beta2", kind: "number", min: 0, max: 0.999999 },
  { path: "adam_epsilon", kind: "number", min: 1e-12, max: 1 },
  { path: "momentum", kind: "number", min: 0, max: 0.999999 },
  { path: "nesterov", kind: "flag" },
  { path: "gradient_checkpointing", kind: "flag" },
  { path: "activation_dtype", kind: "choice", choices: ["float32", "bfloat16", "float16"] },
  { path: "save_steps", kind: "integer", min: 1, max: MANY },
  { path: "logging_steps", kind: "integer", min: 1, max: MANY },
  { path: "seed", kind: "integer", min: 0, max: 4_294_967_295 },
];

export const FIELDS = [...SHOWN, ...MORE];

/** The id of a field's control, as a problem names it. @param {string} path */
export function idOf(path) {
  return `finetune-${path.slice(path.indexOf(".") + 1)}`;
}

/**
 * @param {FineTuneSettings} settings
 * @param {string} path
 * @returns {any}
 */
export function read(settings, path) {
  return path.startsWith("lora.")
    ? /** @type {Record<string, any>} */ (settings.lora)[path.slice(5)] : settings[path];
}

/**
 * The settings with one value changed.
 * @param {FineTuneSettings} settings
 * @param {string} path
 * @param {unknown} value
 * @returns {FineTuneSettings}
 */
export function write(settings, path, value) {
  return path.startsWith("lora.")
    ? { ...settings, lora: { ...settings.lora, [path.slice(5)]: value } }
    : { ...settings, [path]: value };
}

/**
 * Whether two values of a setting are the same.
 * @param {unknown} a
 * @param {unknown} b
 */
export function same(a, b) {
  return Array.isArray(a) && Array.isArray(b)
    ? a.length === b.length && a.every((one) => b.includes(one)) : a === b;
}

/**
 * Reads one number as its field wants it, or null when it is not one.
 * @param {Field} field
 * @param {string} value
 * @returns {number | null}
 */
export function parse(field, value) {
  const parsed = value.trim() === "" ? NaN : Number(value);
  if (!Number.isFinite(parsed)) return null;
  if (field.kind === "integer" && !Number.isInteger(parsed)) return null;
  if (parsed < (field.min ?? -Infinity) || parsed > (field.max ?? Infinity)) return null;
  return parsed;
}

/**
 * The usual settings of another model, with what was changed by hand.
 * @param {FineTuneSettings | null} settings
 * @param {FineTuneSettings | null} before usual ones of the model before
 * @param {FineTuneSettings} usual
 * @param {number} longest tokens that the model can read
 * @returns {FineTuneSettings}
 */
export function carryOver(settings, before, usual, longest) {
  if (!settings || !before) return usual;
  let after = { ...usual, prompts: same(settings.prompts, before.prompts)
    ? usual.prompts : settings.prompts };
  for (const { path, kind } of FIELDS) {
    const value = read(settings, path);
    // Parts have other names in another model.
    if (kind !== "parts" && !same(value, read(before, path))) after = write(after, path, value);
  }
  return { ...after, context_length: Math.min(after.context_length, longest) };
}

/**
 * The parts that an adapter can act on, by the names that all blocks share: q_proj, v_proj.
 * @param {string[]} targets full names of a model's modules
 * @param {string[]} chosen
 */
export function partNames(targets, chosen) {
  const last = targets.map((name) => name.slice(name.lastIndexOf(".") + 1));
  return [...new Set([...last, ...chosen])];
}

/**
 * One question a line.
 * @param {string} value
 */
export function promptsOf(value) {
  return value.split("\n").filter((line) => line.trim() !== "");
}
