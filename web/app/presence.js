/** Manners around a run: the title, the screen's wake lock, and a tab that is hidden. */

import { latestLoss } from "./facts.js";
import { loss, number } from "./format.js";
import { activeLive, model, watch } from "./model.js";
import { addNotice } from "./notices.js";
import { showProblem } from "./problems.js";
import { byId } from "./dom.js";
import { text } from "./strings.js";

/** @typedef {import("./client.js").Client} Client */

/** @type {WakeLockSentinel | null} */
let lock = null;
let asking = false;

/** Takes or gives back the wake lock. Browsers refuse it on low battery: training goes on. */
async function keepAwake() {
  const wanted = activeLive().state === "running" && document.visibilityState === "visible";
  if (!wanted) {
    await lock?.release();
    lock = null;
    return;
  }
  if (lock || asking || !navigator.wakeLock) return;
  asking = true;
  try {
    lock = await navigator.wakeLock.request("screen");
    lock.addEventListener("release", () => {
      lock = null;
    });
  } catch (reason) {
    if (!(reason instanceof DOMException)) throw reason;
  } finally {
    asking = false;
  }
}

function showTitle() {
  const live = activeLive();
  const { state, step } = live;
  const title = state === "running" || state === "paused"
    ? text.facts.title(number(step), loss(latestLoss(live))) : text.title;
  if (document.title !== title) document.title = title;
}

/** @param {Client} client */
async function save(client) {
  try {
    await client.command("save");
  } catch (reason) {
    if (model.phase !== "ready") return;
    showProblem(reason, byId(activeLive() === model.live ? "train-problem" : "finetune-problem"));
  }
}

/** @param {Client} client */
export function setUpPresence(client) {
  /** The run that went on while the tab was hidden, and its step at that moment. */
  let hidden = { live: activeLive(), at: -1 };
  client.onMessage((message) => {
    // Not in an animation frame: a hidden tab has none, and its title is all that is seen.
    if (["progress", "state", "done"].includes(message.name)) showTitle();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") {
      const live = activeLive();
      const running = live.state === "running";
      hidden = { live, at: running ? live.step : -1 };
      if (running || live.state === "paused") void save(client);
    } else {
      const steps = hidden.live.step - hidden.at;
      if (hidden.at >= 0 && steps > 0) addNotice("hidden", text.notices.hidden(number(steps)));
      hidden.at = -1;
    }
    void keepAwake();
  });
  watch((m) => [m.live.state, m.tune.live.state], () => {
    showTitle();
    void keepAwake();
  });
}
