// A chat template in the tab, rendered by Hugging Face's own Jinja. It sees the values that it is
// given and nothing else: the language has no way out to JavaScript, so this is a sandbox.

import { addGlobals, interpreterClass, mendText, valueClasses } from "./interpreter.js";

const LIBRARY = new URL("../vendor/huggingface-jinja/jinja.js", import.meta.url);

/** @typedef {typeof import("@huggingface/jinja")} Library */
/** @typedef {ReturnType<typeof prepare>} Prepared */

/** @type {Promise<Prepared> | undefined} */
let prepared;

/** @param {Library} library */
function prepare(library) {
  const classes = valueClasses(library);
  mendText(classes);
  return { library, classes, Interpreter: interpreterClass(library, classes) };
}

/**
 * Reads a Jinja template.
 * @param {string} source
 * @returns {Promise<TabTemplate>}
 */
export async function openTemplate(source) {
  prepared ??= import(LIBRARY.href).then(prepare);
  const ready = await prepared;
  return new TabTemplate(ready, new ready.library.Template(source).parsed);
}

export class TabTemplate {
  /**
   * @param {Prepared} ready
   * @param {import("@huggingface/jinja").Template["parsed"]} program
   */
  constructor(ready, program) {
    this.ready = ready;
    this.program = program;
  }

  /**
   * @param {string} variables JSON as `browser_text.py` writes it: {"list": [...]},
   *   {"table": [[key, value], ...]}, {"float": number}; the rest is itself
   * @returns {string}
   */
  render(variables) {
    const environment = new this.ready.library.Environment();
    addGlobals(environment);
    for (const [name, value] of JSON.parse(variables).table) {
      environment.setVariable(name, this.value(value));
    }
    return new this.ready.Interpreter(environment).run(this.program).value;
  }

  /** @param {any} sent @returns {any} a value of the library */
  value(sent) {
    const { Float, Integer, List, None, Table, Text, Truth } = this.ready.classes;
    if (sent === null) return new None(null);
    if (typeof sent === "string") return new Text(sent);
    if (typeof sent === "boolean") return new Truth(sent);
    if (typeof sent === "number") return new Integer(sent);
    if ("float" in sent) return new Float(sent.float);
    if ("list" in sent) return new List(sent.list.map((/** @type {any} */ one) => this.value(one)));
    return new Table(new Map(sent.table.map((/** @type {[string, any]} */ [key, value]) => (
      [key, this.value(value)]))));
  }
}
