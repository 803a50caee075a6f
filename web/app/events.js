/** Events of the worker that a person should know of: notices, failures, surprises. */

import { byId } from "./dom.js";
import { model } from "./model.js";
import { addNotice, addProblemNotice } from "./notices.js";
import { showProblem } from "./problems.js";
import { text } from "./strings.js";

/** @param {import("./client.js").Client} client */
export function setUpEvents(client) {
  client.onMessage((message) => {
    if (message.name === "notice") addNotice(message.code, message.message);
    if (message.name === "error") addProblemNotice(message.problem);
    if (message.name === "state" && message.problem) {
      const tuned = message.run && message.run === model.tune.live.name;
      showProblem(message.problem, byId(tuned ? "finetune-problem" : "train-problem"));
    }
  });
  const unforeseen = (/** @type {unknown} */ reason) => addProblemNotice({
    code: "page", message: text.problems.unforeseen, detail: String(reason),
  });
  addEventListener("error", (event) => unforeseen(event.error ?? event.message));
  addEventListener("unhandledrejection", (event) => unforeseen(event.reason));
}
