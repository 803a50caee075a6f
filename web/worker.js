// The worker: starts Pyodide, installs tabgrad from our own origin, and passes messages on.
// What the messages mean is in tabgrad/app; how they look is in protocol.json.

import * as seam from "./seam.js";
import { Download } from "./download.js";

/** @typedef {{url: string, bytes: number, sha256: string}} ListedFile */
/** @typedef {{name: string, file: string, language: string, characters: number,
 *   preview: string}} ListedText */
/** @typedef {{folder: string, title: string, summary: string, bytes: number, parameters: number,
 *   licence: string, chat: boolean}} ListedModel */
/** @typedef {{wheel: string, packages: string[], corpora: ListedText[], models?: ListedModel[],
 *   files: Record<string, ListedFile>}} Manifest */
/** @typedef {(message: string, data: Uint8Array | undefined,
 *   files: File[] | undefined) => void} Handle */

const scope = /** @type {DedicatedWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const root = new URL("../", import.meta.url);
const PYTHON = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip",
  "pyodide-lock.json"].map((name) => `pyodide/${name}`);

/** @param {string} stage @param {number} done @param {number} total @param {string} unit */
function tell(stage, done, total, unit) {
  scope.postMessage({ name: "stage", stage, done, total, unit });
}

/** @param {unknown} error @returns {{code: string, message: string, detail: string}} */
function problemOf(error) {
  const detail = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { code: "fault", message: "A fault in the worker stopped this.", detail };
}

scope.addEventListener("error", (event) => {
  scope.postMessage({ name: "error", problem: problemOf(event.error ?? event.message) });
});
scope.addEventListener("unhandledrejection", (event) => {
  scope.postMessage({ name: "error", problem: problemOf(event.reason) });
});

/** @returns {Promise<Manifest>} */
async function readManifest() {
  const url = new URL("files.json", import.meta.url);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.pathname}: HTTP ${response.status}`);
  return response.json();
}

/**
 * Where a file of the site is.
 * @param {Manifest} manifest
 * @param {string} name its logical name
 */
function address(manifest, name) {
  const file = manifest.files[name];
  if (!file) throw new Error(`files.json does not list ${name}`);
  return new URL(file.url, root);
}

/**
 * Starts Python with its packages and tabgrad.
 * @param {Manifest} manifest
 * @returns {Promise<Handle>}
 */
async function startPython(manifest) {
  const wheels = Object.keys(manifest.files).filter((name) => name.startsWith("pyodide/")
    && name.endsWith(".whl"));
  const download = new Download((url) => manifest.files[logicalName(manifest, url)]?.bytes);
  const pyodideUrl = address(manifest, "pyodide/pyodide.mjs");
  download.watch(PYTHON.map((name) => address(manifest, name)),
    (done, total) => tell("python", done, total, "bytes"));
  const { loadPyodide } = await import(pyodideUrl.href);
  const pyodide = await loadPyodide({ indexURL: new URL("./", pyodideUrl).href });
  download.finish();
  download.watch(wheels.map((name) => address(manifest, name)),
    (done, total) => tell("packages", done, total, "bytes"));
  await pyodide.loadPackage(manifest.packages, { messageCallback: () => undefined });
  download.finish();
  tell("tabgrad", 0, 1, "packages");
  pyodide.registerJsModule("tabgrad_seam", { ...seam });
  pyodide.registerJsModule("tabgrad_tab", tabModule(manifest));
  const wheel = address(manifest, manifest.wheel).href;
  await pyodide.runPythonAsync("import micropip; await micropip.install(wheel, deps=False)",
    { globals: pyodide.toPy({ wheel }) });
  const main = pyodide.pyimport("tabgrad.app.main");
  main.start();
  tell("tabgrad", 1, 1, "packages");
  return main.handle;
}

/** @param {Manifest} manifest @param {string} url */
function logicalName(manifest, url) {
  return Object.keys(manifest.files).find((name) => address(manifest, name).href === url) ?? "";
}

/**
 * What tabgrad/app/main.py asks of the tab.
 * @param {Manifest} manifest
 */
function tabModule(manifest) {
  const texts = manifest.corpora.map(({ name, file, language, characters, preview }) => ({
    name, language, characters, preview, builtin: true,
    sha256: manifest.files[file].sha256, bytes: manifest.files[file].bytes, file,
  }));
  return {
    corpora: () => JSON.stringify(texts.map(({ file, ...described }) => described)),
    // Models are fetched over https or from this computer: no other page offers its own.
    models: () => JSON.stringify(((scope.isSecureContext && manifest.models) || []).map(({
      folder, ...described }) => ({
      source: new URL("./", address(manifest, `${folder}/config.json`)).href, ...described,
    }))),
    /** @param {string} sha256 */
    fetchText: async (sha256) => {
      const text = texts.find((known) => known.sha256 === sha256);
      if (!text) throw new Error("there is no built-in text of this checksum");
      const url = address(manifest, text.file);
      const download = new Download(() => text.bytes);
      download.watch([url], (done, total) => tell("corpus", done, total, "bytes"));
      try {
        const response = await fetch(url);
        if (!response.ok) throw new Error(`${url.pathname}: HTTP ${response.status}`);
        return new Uint8Array(await response.arrayBuffer());
      } finally {
        download.finish();
      }
    },
    persisted: () => navigator.storage.persisted(),
    post,
  };
}

/**
 * Sends what Python says. Where there are bytes, `bytes` in the message names the field of the
 * result that they belong to.
 * @param {string} text
 * @param {Uint8Array<ArrayBuffer> | null | undefined} data
 */
function post(text, data) {
  const parsed = JSON.parse(text);
  if (!data) {
    scope.postMessage(parsed);
    return;
  }
  const { bytes: field, ...message } = parsed;
  message.result[field] = data;
  scope.postMessage(message, [data.buffer]);
}

const starting = readManifest().then(startPython);

scope.addEventListener("message", async ({ data: message }) => {
  try {
    const handle = await starting;
    const { fields, data, files } = split(message);
    handle(JSON.stringify(fields), data, files);
  } catch (error) {
    const problem = { ...problemOf(error), code: "start", message: "Python could not be started.",
      remedy: "Check the connection and try again." };
    const id = message?.id;
    scope.postMessage(Number.isInteger(id) ? { name: "failure", id, problem }
      : { name: "error", problem });
  }
});

/**
 * A message without its bytes and its files, and these. Files stay in JavaScript: their names and
 * sizes take their place.
 * @param {any} message
 * @returns {{fields: any, data: Uint8Array | undefined, files: File[] | undefined}} not null: in
 *   Python that is no None
 */
function split(message) {
  if (message === null || typeof message !== "object") {
    return { fields: message, data: undefined, files: undefined };
  }
  const fields = { ...message };
  let data;
  let files;
  for (const [key, value] of Object.entries(fields)) {
    if (value instanceof Uint8Array) {
      data = value;
      delete fields[key];
    } else if (Array.isArray(value) && value.length && value.every((one) => one instanceof File)) {
      files = value;
      fields[key] = value.map(({ name, size }) => ({ name, size }));
    }
  }
  return { fields, data, files };
}
