/**
 * Checks messages against `protocol.json`, in both directions.
 *
 * A type is written as in that file: `string`, `integer`, `number`, `boolean`, `object`,
 * `bytes` (a Uint8Array), `files` (a list of File), `list:TYPE`, or a name from its `types`; a
 * trailing `?` lets the field be null or missing.
 */

/** @typedef {Record<string, string>} Fields */
/** @typedef {{fields: Fields, reply?: Fields}} Entry */
/**
 * @typedef {{version: number, types: Record<string, Fields>,
 *   to_worker: Record<string, Entry>, to_page: Record<string, Entry>}} Table
 */

/** @type {Record<string, (value: unknown) => boolean>} */
const PLAIN = {
  string: (value) => typeof value === "string",
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  object: (value) => value !== null && typeof value === "object" && !Array.isArray(value),
  bytes: (value) => value instanceof Uint8Array,
  files: (value) => Array.isArray(value) && value.every((one) => one instanceof File),
};

/**
 * What a value looks like, in a few words, for an error.
 * @param {unknown} value
 */
function describe(value) {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value === "object") return "an object";
  return `${typeof value} ${String(value).slice(0, 40)}`;
}

/**
 * The same for a value that should be of a plain type. What should be an object may hold a secret,
 * such as the header with an access token: of that only its kind is told.
 * @param {string} type
 * @param {unknown} value
 */
function received(type, value) {
  return type === "object" && typeof value === "string" ? "a string" : describe(value);
}

export class Protocol {
  /** @param {Table} table the parsed protocol.json */
  constructor(table) {
    this.table = table;
  }

  /**
   * Says what is wrong with a message to the worker, or null when it is right.
   * @param {string} name
   * @param {Record<string, unknown>} fields
   * @returns {string | null}
   */
  checkCommand(name, fields) {
    const entry = this.table.to_worker[name];
    if (!entry) return `There is no command "${name}".`;
    return this.#checkFields(name, entry.fields, fields);
  }

  /**
   * Says what is wrong with the result of a command, or null.
   * @param {string} name the command's name
   * @param {Record<string, unknown>} result
   * @returns {string | null}
   */
  checkReply(name, result) {
    const entry = this.table.to_worker[name];
    if (!entry) return `There is no command "${name}".`;
    return this.#checkFields(`${name}: reply`, entry.reply ?? {}, result);
  }

  /**
   * Says what is wrong with a message from the worker, or null.
   * @param {unknown} message
   * @returns {string | null}
   */
  checkMessage(message) {
    if (!PLAIN.object(message)) return `A message is an object, not ${describe(message)}.`;
    const { name, ...fields } = /** @type {Record<string, unknown>} */ (message);
    const entry = typeof name === "string" ? this.table.to_page[name] : undefined;
    if (!entry) return `There is no message "${String(name)}".`;
    return this.#checkFields(String(name), entry.fields, fields);
  }

  /**
   * @param {string} path where we are, for the error
   * @param {Fields} expected
   * @param {Record<string, unknown>} fields
   * @returns {string | null}
   */
  #checkFields(path, expected, fields) {
    for (const [field, type] of Object.entries(expected)) {
      const problem = this.#checkValue(`${path}.${field}`, type, fields[field]);
      if (problem) return problem;
    }
    for (const field of Object.keys(fields)) {
      if (!(field in expected)) return `${path} has no field "${field}".`;
    }
    return null;
  }

  /**
   * @param {string} path
   * @param {string} type
   * @param {unknown} value
   * @returns {string | null}
   */
  #checkValue(path, type, value) {
    if (type.endsWith("?")) {
      if (value === null || value === undefined) return null;
      return this.#checkValue(path, type.slice(0, -1), value);
    }
    if (type.startsWith("list:")) {
      if (!Array.isArray(value)) return `${path} should be a list, not ${describe(value)}.`;
      for (let i = 0; i < value.length; i += 1) {
        const problem = this.#checkValue(`${path}[${i}]`, type.slice(5), value[i]);
        if (problem) return problem;
      }
      return null;
    }
    const plain = PLAIN[type];
    if (plain) {
      return plain(value) ? null : `${path} should be ${type}, not ${received(type, value)}.`;
    }
    const fields = this.table.types[type];
    if (!fields) return `${path} has the type "${type}", which protocol.json does not define.`;
    if (!PLAIN.object(value)) return `${path} should be a ${type}, not ${describe(value)}.`;
    return this.#checkFields(path, fields, /** @type {Record<string, unknown>} */ (value));
  }
}

/**
 * Reads `protocol.json` that lies beside the page.
 * @param {string | URL} url
 * @returns {Promise<Protocol>}
 */
export async function loadProtocol(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: HTTP ${response.status}`);
  return new Protocol(await response.json());
}
