// Pyodide with NumPy and the tabgrad wheel, as anybody's page would have it.

import { loadPyodide } from "./pyodide/pyodide.mjs";

let pyodide;

export async function boot(wheel) {
  pyodide = await loadPyodide();
  await pyodide.loadPackage(["numpy", "micropip"], { messageCallback: () => undefined });
  await pyodide.runPythonAsync(`
import micropip
await micropip.install(wheel, deps=False)
`, { globals: pyodide.toPy({ wheel }) });
}

export async function run(code) {
  const names = pyodide.globals.get("dict")();
  const value = await pyodide.runPythonAsync(code, { globals: names });
  const text = pyodide.pyimport("json").dumps(value ?? null);
  value?.destroy?.();
  names.destroy();
  return text;
}
