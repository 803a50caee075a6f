// Runs Python in a worker: `await window.runPython(code)` gives the last expression as JSON text.

const address = new URL(location.href).searchParams;
const worker = new Worker("worker.js", { type: "module" });
const waiting = new Map();
let nextId = 1;

worker.onmessage = ({ data: { id, result, error } }) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (error === undefined) resolve(result);
  else reject(new Error(error));
};
worker.onerror = (event) => {
  for (const { reject } of waiting.values()) reject(new Error(event.message));
  waiting.clear();
};

const ask = (message) => new Promise((resolve, reject) => {
  waiting.set(nextId, { resolve, reject });
  worker.postMessage({ id: nextId, ...message });
  nextId += 1;
});

window.runPython = (code) => ask({ code });
window.ready = ask({ boot: Object.fromEntries(address) });
