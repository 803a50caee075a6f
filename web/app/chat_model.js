/** Which model chats: choosing it, loading it, and going to Chat with one. */

import { stageAmount, stageName, startWords } from "./boot.js";
import { byId, fill, make, setText } from "./dom.js";
import { bytes, number } from "./format.js";
import { load, modelNamed, unload, writers } from "./library.js";
import { changed, model, watch } from "./model.js";
import { goTo } from "./places.js";
import { text } from "./strings.js";
import { answersChat } from "./talk.js";

/** @typedef {import("./client.js").Client} Client */

/** The share of the weights in the time of a loading, roughly; the kernels take the rest. */
const WEIGHTS_SHARE = 0.6;

/**
 * Goes to Chat and loads this model there.
 * @param {Client} client
 * @param {string} name
 */
export function openChat(client, name) {
  model.talk.chosen = name;
  goTo("chat");
  changed();
  void load(client, name);
}

/** Chooses among the models that are here when none is chosen, or the chosen one has gone. */
function choose() {
  const { talk, library } = model;
  const here = writers();
  if (!library.known || here.some((one) => one.model === talk.chosen)) return;
  const wanted = talk.conversation.messages.length > 0 ? talk.conversation.model : "";
  // A conversation whose model has gone says so, and waits for a choice.
  if (wanted) talk.chosen = "";
  else talk.chosen = library.loaded?.model.model ?? here[0]?.model ?? "";
  changed();
}

function drawChoice() {
  choose();
  const { library, talk } = model;
  const here = writers();
  const select = /** @type {HTMLSelectElement} */ (byId("chat-model"));
  fill(select, [
    ...(talk.chosen ? [] : [make("option", { value: "", text: "\u2013" })]),
    ...here.map((one) => make("option", {
      value: one.model, text: text.chat.model.option(one.title, bytes(one.bytes)),
    })),
  ]);
  select.value = talk.chosen;
  const none = library.known && here.length === 0;
  byId("chat-none").hidden = !none;
  byId("chat-choice").hidden = none;
  select.disabled = here.length === 0 || talk.writing;
}

/** What stands under the choice. */
function stateWords() {
  const { library, talk } = model;
  const words = text.chat.model;
  if (!library.known) return startWords() || words.waiting;
  const { loaded, loading, stages } = library;
  if (loading) {
    const stage = stages[stages.length - 1];
    const lead = words.loading(modelNamed(loading)?.title ?? loading);
    return stage ? `${lead}: ${stageName(stage)} ${stageAmount(stage)}` : lead;
  }
  const chosen = modelNamed(talk.chosen);
  if (!chosen) {
    return talk.conversation.messages.length > 0 && talk.conversation.model
      ? words.gone(talk.conversation.model) : "";
  }
  const plain = answersChat() ? "" : ` ${words.noTemplate}`;
  if (loaded?.model.model !== chosen.model) return words.notLoaded(chosen.title) + plain;
  return words.ready(chosen.title, number(loaded.context_length), bytes(loaded.gpu_bytes)) + plain;
}

function drawState() {
  const { library, talk } = model;
  const { loaded, loading, stages } = library;
  const needed = talk.chosen !== "" && loaded?.model.model !== talk.chosen;
  setText(byId("chat-model-state"), stateWords());
  byId("chat-load").hidden = !needed || loading === talk.chosen;
  byId("chat-load-stop").hidden = loading === "";
  byId("chat-load-bar").hidden = loading === "";
  const part = (/** @type {string} */ name) => {
    const stage = stages.find((known) => known.stage === name);
    return stage && stage.total > 0 ? stage.done / stage.total : 0;
  };
  byId("chat-load-bar").setAttribute("value",
    String(WEIGHTS_SHARE * part("weights") + (1 - WEIGHTS_SHARE) * part("kernels")));
}

/** @param {Client} client */
export function setUpChatModel(client) {
  const select = /** @type {HTMLSelectElement} */ (byId("chat-model"));
  select.addEventListener("change", () => {
    model.talk.chosen = select.value;
    changed();
  });
  byId("chat-load").addEventListener("click", () => void load(client, model.talk.chosen));
  byId("chat-load-stop").addEventListener("click", () => void unload(client));
  watch((m) => [m.library.models, m.library.known, m.library.loaded, m.talk.chosen,
    m.talk.conversation, m.talk.writing, m.tune.adapters, m.runs], drawChoice);
  watch((m) => [m.library.models, m.tune.adapters, m.library.known, m.library.loaded,
    m.library.loading, m.library.stages, m.talk.chosen, m.talk.conversation, m.phase, m.stages],
    drawState);
}
