// Hugging Face's Jinja, made to write what Python's Jinja writes where the two differ.

import { PLAIN, json, str, strftime, strip } from "./python_text.js";

/** @typedef {typeof import("@huggingface/jinja")} Library */
/** @typedef {any} Value */

const SILENT = new Set(["Set", "Macro", "Comment"]);
/** Filters that are done here. */
const OURS = new Set(["string", "tojson", "trim"]);
/** A node whose value is there already. */
const KNOWN = "Known";
const LOOP_EXITS = new Set(["BreakControl", "ContinueControl"]);
/** A template comes from strangers and holds the worker while it runs: one that takes longer, in
 * milliseconds, is given up. A thousand messages take less than a tenth of that. */
const LONGEST_MS = 5000;
const STEPS_A_LOOK = 256;
/** Numbers of one `range`, as in the sandbox of Python's Jinja. */
const LONGEST_RANGE = 100_000;

/**
 * The classes of the library's values, which it does not export.
 * @param {Library} library
 */
export function valueClasses(library) {
  const environment = new library.Environment();
  const classOf = (/** @type {unknown} */ sample, /** @type {string} */ name) => (
    /** @type {any} */ (environment.set(name, sample).constructor));
  return { Integer: classOf(1, "i"), Float: classOf(0.5, "f"), Text: classOf("", "s"),
    Truth: classOf(true, "b"), List: classOf([], "l"), Table: classOf({}, "d"),
    None: classOf(null, "n"), Callable: classOf(() => 1, "c") };
}

/** @typedef {ReturnType<typeof valueClasses>} Classes */

/**
 * Gives texts Python's methods, for this page's copy of the library.
 * @param {Classes} classes
 */
export function mendText({ Text, Integer, Callable }) {
  const { get } = /** @type {PropertyDescriptor} */ (
    Object.getOwnPropertyDescriptor(Text.prototype, "builtins"));
  const method = (/** @type {(...texts: (string | null)[]) => string} */ act) => (
    new Callable((/** @type {Value[]} */ given) => (
      new Text(act(...given.map(({ value }) => value))))));
  Object.defineProperty(Text.prototype, "builtins", { get() {
    const methods = /** @type {() => Map<string, Value>} */ (get).call(this);
    const text = this.value;
    methods.set("length", new Integer(Array.from(text).length));
    methods.set("strip", method((what = null) => strip(text, what)));
    methods.set("lstrip", method((what = null) => strip(text, what, true, false)));
    methods.set("rstrip", method((what = null) => strip(text, what, false, true)));
    methods.set("capitalize", method(() => text.slice(0, 1).toUpperCase()
      + text.slice(1).toLowerCase()));
    return methods;
  } });
}

/**
 * @param {Library} library
 * @param {Classes} classes
 */
export function interpreterClass(library, { Text }) {
  const Base = /** @type {new (environment: any) => any} */ (library.Interpreter);
  return class extends Base {
    /** @type {{ body: unknown, exit?: any }[]} the loops that run, the innermost last; `exit`
     *  once one is to end */
    loops = [];
    steps = 0;
    late = performance.now() + LONGEST_MS;

    /** Counts what is done, and now and then looks at the clock. */
    step() {
      this.steps += 1;
      if (this.steps % STEPS_A_LOOK === 0 && performance.now() > this.late) {
        throw new Error(`it takes longer than ${LONGEST_MS / 1000} seconds`);
      }
    }

    /** @param {any} node @param {unknown} environment */
    evaluateFor(node, environment) {
      this.loops.push({ body: node.body });
      try {
        return super.evaluateFor(node, environment);
      } finally {
        this.loops.pop();
      }
    }

    /**
     * Prints as Python does. The library forgets what a loop's body wrote before a break or a
     * continue: here the text comes back, and a break ends the loop at its next turn.
     * @param {any[]} statements @param {unknown} environment
     */
    evaluateBlock(statements, environment) {
      this.step();
      const loop = this.loops.at(-1);
      const isBody = loop !== undefined && statements === loop.body;
      if (isBody && loop.exit) throw loop.exit;
      let text = "";
      for (const statement of statements) {
        try {
          text += this.printed(this.evaluate(statement, environment), statement);
        } catch (error) {
          const exit = /** @type {any} */ (error);
          if (!LOOP_EXITS.has(exit?.constructor?.name)) throw exit;
          exit.written = text + (exit.written ?? "");
          if (!isBody) throw exit;
          if (exit.constructor.name === "BreakControl") loop.exit = exit;
          return new Text(exit.written);
        }
      }
      return new Text(text);
    }

    /** @param {Value} value @param {{ type: string }} [statement] it is the value of */
    printed(value, statement) {
      const silent = statement !== undefined && SILENT.has(statement.type);
      return silent || value.type === "UndefinedValue" ? "" : str(value);
    }

    /** @param {any} statement @param {unknown} environment */
    evaluate(statement, environment) {
      this.step();
      return statement?.type === KNOWN ? statement.value : super.evaluate(statement, environment);
    }

    /** @param {any} node @param {unknown} environment */
    evaluateBinaryExpression(node, environment) {
      const sign = node.operator.value;
      if (sign !== "~" && sign !== "+") return super.evaluateBinaryExpression(node, environment);
      const [left, right] = [node.left, node.right].map((one) => this.evaluate(one, environment));
      if (sign === "~") return new Text(this.printed(left) + this.printed(right));
      if ((left instanceof Text) !== (right instanceof Text)) {
        throw new Error(`${left.type} + ${right.type}: one is a text and the other is not`);
      }
      const known = (/** @type {Value} */ value) => ({ type: KNOWN, value });
      return super.evaluateBinaryExpression({ ...node, left: known(left), right: known(right) },
        environment);
    }

    /** @param {Value} operand @param {any} filter @param {unknown} environment */
    applyFilter(operand, filter, environment) {
      const called = filter.type === "CallExpression";
      const name = called ? filter.callee.value : filter.value;
      if (!OURS.has(name)) return super.applyFilter(operand, filter, environment);
      const [given, named] = called ? this.evaluateArguments(filter.args, environment)
        : [[], new Map()];
      if (name === "tojson") return new Text(json(operand, jsonStyle(given, named)));
      const text = this.printed(operand);
      const characters = given[0] ?? named.get("chars");
      return new Text(name === "trim" ? strip(text, characters?.value ?? null) : text);
    }
  };
}

/** @param {Value[]} given @param {Map<string, Value>} named */
function jsonStyle(given, named) {
  const style = { ...PLAIN };
  const order = /** @type {const} */ (["ensure_ascii", "indent", "separators", "sort_keys"]);
  const values = new Map(named);
  given.forEach((value, i) => values.set(order[i], value));
  style.ensureAscii = values.get("ensure_ascii")?.value ?? false;
  style.indent = values.get("indent")?.value ?? null;
  style.sortKeys = values.get("sort_keys")?.value ?? false;
  const separators = values.get("separators")?.value;
  if (separators) style.separators = separators.map((/** @type {Value} */ one) => one.value);
  return style;
}

/** Names that every template may use. @param {any} environment */
export function addGlobals(environment) {
  const constants = { true: true, false: false, none: null, True: true, False: false, None: null };
  for (const [name, value] of Object.entries(constants)) environment.set(name, value);
  environment.set("raise_exception", (/** @type {string} */ message) => {
    throw new Error(message);
  });
  environment.set("range", range);
  environment.set("strftime_now", (/** @type {string} */ form) => strftime(new Date(), form));
}

/** @param {number} first @param {number} [end] @param {number} [step] */
function range(first, end, step = 1) {
  if (step === 0) throw new Error("the step of range must not be 0");
  const [start, stop] = end === undefined ? [0, first] : [first, end];
  const count = Math.max(0, Math.ceil((stop - start) / step));
  if (!(count <= LONGEST_RANGE)) throw new Error(`range has more than ${LONGEST_RANGE} numbers`);
  return Array.from({ length: count }, (_, i) => start + i * step);
}
