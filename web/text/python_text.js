// Values of a template as Python writes them: templates were written for Python's Jinja.

/** @typedef {any} Value a value of the Jinja library: { type, value } */
/** @typedef {{ indent: number | null, ensureAscii: boolean, sortKeys: boolean,
 *   separators: [string, string] | null }} JsonStyle */

export const PLAIN = Object.freeze(/** @type {JsonStyle} */ (
  { indent: null, ensureAscii: false, sortKeys: false, separators: null }));

/**
 * `str(value)`.
 * @param {Value} value
 * @returns {string}
 */
export function str(value) {
  return value.type === "StringValue" ? value.value : repr(value);
}

/**
 * `repr(value)`.
 * @param {Value} value
 * @returns {string}
 */
export function repr(value) {
  switch (value.type) {
    case "NullValue":
      return "None";
    case "UndefinedValue":
      return "Undefined";
    case "BooleanValue":
      return value.value ? "True" : "False";
    case "FloatValue":
      return float(value.value);
    case "StringValue":
      return quoted(value.value);
    case "ArrayValue":
      return `[${value.value.map(repr).join(", ")}]`;
    case "TupleValue":
      return `(${value.value.map(repr).join(", ")}${value.value.length === 1 ? "," : ""})`;
    case "ObjectValue":
      return `{${Array.from(value.value, ([key, one]) => `${quoted(key)}: ${repr(one)}`)
        .join(", ")}}`;
    default:
      return String(value);
  }
}

/** @param {number} number */
function float(number) {
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return number.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  if (Object.is(number, -0)) return "-0.0";
  return Number.isInteger(number) ? `${number}.0` : String(number);
}

const ESCAPES = /** @type {Record<string, string>} */ (
  { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" });
// What Python does not print: separators but the space, and the categories of other characters.
const HIDDEN = /[^\P{Z} ]|[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu;

/** @param {string} text */
function quoted(text) {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inside = text.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character])
    .replaceAll(mark, `\\${mark}`)
    .replace(HIDDEN, (character) => hex(/** @type {number} */ (character.codePointAt(0))));
  return mark + inside + mark;
}

/** @param {number} code */
function hex(code) {
  const digits = code.toString(16);
  if (code < 0x100) return `\\x${digits.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}

/**
 * `json.dumps(value)`.
 * @param {Value} value
 * @param {JsonStyle} style
 * @param {string} margin what the line begins with
 * @returns {string}
 */
export function json(value, style, margin = "\n") {
  switch (value.type) {
    case "NullValue":
      return "null";
    case "BooleanValue":
      return value.value ? "true" : "false";
    case "IntegerValue":
      return String(value.value);
    case "FloatValue":
      return float(value.value);
    case "StringValue":
      return jsonString(value.value, style);
    case "ArrayValue":
    case "TupleValue":
      return bracketed("[]", value.value, style, margin,
        (/** @type {Value} */ one, /** @type {string} */ inner) => json(one, style, inner));
    case "ObjectValue":
      return bracketed("{}", pairs(value, style), style, margin,
        (/** @type {[string, Value]} */ [key, one], /** @type {string} */ inner) => (
          jsonString(key, style) + (style.separators?.[1] ?? ": ") + json(one, style, inner)));
    default:
      throw new Error(`${value.type} cannot be written as JSON`);
  }
}

/** @param {Value} value @param {JsonStyle} style @returns {[string, Value][]} */
function pairs(value, style) {
  const found = /** @type {[string, Value][]} */ ([...value.value]);
  return style.sortKeys ? found.sort(([a], [b]) => (a < b ? -1 : Number(a > b))) : found;
}

/**
 * @param {string} brackets
 * @param {any[]} items
 * @param {JsonStyle} style
 * @param {string} margin
 * @param {(item: any, margin: string) => string} write
 */
function bracketed(brackets, items, style, margin, write) {
  if (items.length === 0) return brackets;
  const [left, right] = brackets;
  if (style.indent === null) {
    return left + items.map((item) => write(item, margin)).join(style.separators?.[0] ?? ", ")
      + right;
  }
  const inner = margin + " ".repeat(style.indent);
  return left + inner + items.map((item) => write(item, inner))
    .join((style.separators?.[0] ?? ",") + inner) + margin + right;
}

/** @param {string} text @param {JsonStyle} style */
function jsonString(text, style) {
  const written = JSON.stringify(text);
  return style.ensureAscii ? written.replace(/[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`) : written;
}

/**
 * `text.strip(characters)`, at the left, the right or both ends.
 * @param {string} text
 * @param {string | null} characters null: white space
 * @param {boolean} left
 * @param {boolean} right
 */
export function strip(text, characters, left = true, right = true) {
  const all = Array.from(text);
  const goes = characters === null ? (/** @type {string} */ one) => SPACE.test(one)
    : (/** @type {string} */ one) => characters.includes(one);
  let [first, last] = [0, all.length];
  while (left && first < last && goes(all[first])) first += 1;
  while (right && last > first && goes(all[last - 1])) last -= 1;
  return all.slice(first, last).join("");
}

// str.isspace: Unicode's white space and four separators of ASCII.
const SPACE = /[\p{White_Space}\x1c-\x1f]/u;

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August",
  "September", "October", "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/**
 * `date.strftime(form)` with English names, whatever the browser's language is.
 * @param {Date} date
 * @param {string} form
 */
export function strftime(date, form) {
  return form.replace(/%(.)/g, (directive, letter) => {
    const write = /** @type {Record<string, (date: Date) => string>} */ (DIRECTIVES)[letter];
    if (!write) throw new Error(`the date format ${directive} is not known in the tab`);
    return write(date);
  });
}

/** @param {number} number */
const two = (number) => String(number).padStart(2, "0");
const DIRECTIVES = {
  a: (/** @type {Date} */ date) => DAYS[date.getDay()].slice(0, 3),
  A: (/** @type {Date} */ date) => DAYS[date.getDay()],
  b: (/** @type {Date} */ date) => MONTHS[date.getMonth()].slice(0, 3),
  B: (/** @type {Date} */ date) => MONTHS[date.getMonth()],
  d: (/** @type {Date} */ date) => two(date.getDate()),
  H: (/** @type {Date} */ date) => two(date.getHours()),
  I: (/** @type {Date} */ date) => two(date.getHours() % 12 || 12),
  m: (/** @type {Date} */ date) => two(date.getMonth() + 1),
  M: (/** @type {Date} */ date) => two(date.getMinutes()),
  p: (/** @type {Date} */ date) => (date.getHours() < 12 ? "AM" : "PM"),
  S: (/** @type {Date} */ date) => two(date.getSeconds()),
  y: (/** @type {Date} */ date) => two(date.getFullYear() % 100),
  Y: (/** @type {Date} */ date) => String(date.getFullYear()),
  "%": () => "%",
};
