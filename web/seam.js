// What the worker hands to Python: `pyodide.registerJsModule("tabgrad_seam", { ...seam })`.
// tabgrad/platform/browser.py is the only caller.

export { openGpu } from "./replay.js";
export { openFiles } from "./opfs.js";
export { tick } from "./tick.js";
export { adoptFile } from "./hub/adopt.js";
export { download } from "./hub/download.js";
export { fetchSmall, fetchStart } from "./hub/small.js";
export { limits as hubLimits } from "./hub/request.js";
export { openTemplate } from "./text/template.js";
export { openTokenizer } from "./text/tokenizer.js";

/** What cancels the transfers that were given its signal. */
export const newAbort = () => new AbortController();
