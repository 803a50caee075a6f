/** Keeps the built site for visits without a network. */

import { addProblemNotice } from "./notices.js";
import { text } from "./strings.js";

/**
 * Registers the service worker of this build. Browsers under test go without, so that each test
 * sees the files as they are, unless the link asks for it with `?sw=1`.
 * @param {URL} root the site's root
 */
export async function keepOffline(root) {
  if (!navigator.serviceWorker) return;
  if (navigator.webdriver && new URLSearchParams(location.search).get("sw") !== "1") return;
  try {
    const response = await fetch(new URL("../files.json", import.meta.url));
    if (!response.ok) throw new TypeError(`files.json: HTTP ${response.status}`);
    const { build } = await response.json();
    await navigator.serviceWorker.register(new URL(`service-worker.js?build=${build}`, root));
  } catch (reason) {
    addProblemNotice({
      code: "offline", message: text.problems.notOffline, detail: String(reason),
    });
  }
}
