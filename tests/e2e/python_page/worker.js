// Boots Pyodide with NumPy, the package and the seam; then runs the code it is sent.

let pyodide;

async function boot({ pyodide: folder, package: archive, seam }) {
  const { loadPyodide } = await import(new URL("pyodide.mjs", new URL(folder, location)).href);
  pyodide = await loadPyodide({ indexURL: new URL(folder, location).href });
  await pyodide.loadPackage("numpy", { messageCallback: () => undefined });
  const answer = await fetch(new URL(archive, location));
  pyodide.unpackArchive(await answer.arrayBuffer(), "zip", { extractDir: "/tabgrad" });
  pyodide.runPython("import sys; sys.path.insert(0, '/tabgrad')");
  pyodide.registerJsModule("tabgrad_seam", { ...await import(new URL(seam, location).href) });
}

async function run(code) {
  const names = pyodide.globals.get("dict")();
  const dumps = pyodide.pyimport("json").dumps;
  const value = await pyodide.runPythonAsync(code, { globals: names });
  try {
    return dumps(value ?? null);
  } finally {
    value?.destroy?.();
    names.destroy();
    dumps.destroy();
  }
}

self.onmessage = async ({ data: { id, boot: addresses, code } }) => {
  try {
    const result = addresses ? await boot(addresses) : await run(code);
    self.postMessage({ id, result });
  } catch (error) {
    self.postMessage({ id, error: String(error?.message ?? error) });
  }
};
