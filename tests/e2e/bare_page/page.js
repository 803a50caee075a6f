// `await window.runPython(code)` gives the last expression as JSON text: of Python in a worker, or
// on this page's own thread, as the address says.

import { boot, run } from "./python.js";

const { place, wheel } = Object.fromEntries(new URL(location.href).searchParams);
const address = new URL(wheel, location).href;

if (place === "worker") {
  const worker = new Worker("worker.js", { type: "module" });
  const waiting = new Map();
  worker.onmessage = ({ data: { id, result, error } }) => {
    const { resolve, reject } = waiting.get(id);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  };
  const ask = (message) => new Promise((resolve, reject) => {
    waiting.set(waiting.size, { resolve, reject });
    worker.postMessage({ id: waiting.size - 1, ...message });
  });
  window.runPython = (code) => ask({ code });
  window.ready = ask({ wheel: address });
} else {
  window.runPython = run;
  window.ready = boot(address);
}
