// What the worker hands to Python: `pyodide.registerJsModule("tabgrad_seam", { ...seam })`.
// tabgrad/platform/browser.py is the only caller.

export { openGpu } from "./replay.js";
export { openFiles } from "./opfs.js";

/** Resolves after everything that waits in the event loop now has had its turn. Unlike a timer it
 * is not slowed down in a hidden tab.
 * @returns {Promise<void>}
 */
export function tick() {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });
}
