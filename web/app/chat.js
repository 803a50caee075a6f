/** A turn of the conversation: sending, writing, stopping, writing again, editing. */

import { addToDraft, beginDraft, draftText, scrollToEnd, setUpChatLog } from "./chat_log.js";
import { checkChatSettings, setUpChatSettings, settingsNow } from "./chat_settings.js";
import { setUpChatFacts } from "./chat_facts.js";
import { setUpChatList } from "./chat_list.js";
import { setUpChatModel } from "./chat_model.js";
import { applyAdapter, setUpChatAdapter } from "./chat_adapter.js";
import { Failure } from "./client.js";
import { byId, setText } from "./dom.js";
import { load, tellProblem, unload } from "./library.js";
import { changed, model, watch } from "./model.js";
import { clearProblem } from "./problems.js";
import { text } from "./strings.js";
import { answers, answersChat, asText, changeConversation, keepConversation, setUpTalk, withSystem }
  from "./talk.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").ChatMessage} ChatMessage */

const promptBox = () => /** @type {HTMLTextAreaElement} */ (byId("chat-prompt"));

/**
 * Asks the loaded model; the answer grows in the log.
 * @param {Client} client
 * @param {ChatMessage[]} messages
 */
async function ask(client, messages) {
  const { talk, library } = model;
  const settings = settingsNow();
  beginDraft();
  /** @type {import("./model.js").Answer | null} */
  let answer = null;
  let words = "";
  try {
    const adapter = await applyAdapter(client);
    const [name, what] = answersChat() ? ["chat", { messages: withSystem(messages) }]
      : ["complete", { prompt: asText(messages) }];
    const result = await client.command(name, { ...what, settings }, addToDraft);
    words = result.text;
    answer = { usage: result.usage, finish_reason: result.finish_reason, seed: settings.seed,
      adapter };
  } catch (reason) {
    // What had come is kept; a lost device has lost the model too.
    words = draftText();
    const lost = reason instanceof Failure
      && (reason.problem.control === "chat-model" || reason.problem.code === "device-lost");
    if (lost) library.loaded = null;
    tellProblem(reason, "chat-problem");
  }
  talk.answer = answer;
  if (!words) return;
  const message = { role: "assistant", content: words };
  if (answer) answers.set(message, answer);
  changeConversation({ messages: [...messages, message] });
  byId("chat-live").textContent = text.chat.log.announce(words);
}

/**
 * One turn: the model is loaded if it is not, answers the messages, and both are kept.
 * @param {Client} client
 * @param {ChatMessage[]} messages
 */
async function turn(client, messages) {
  const { talk } = model;
  if (talk.writing || !talk.chosen || model.phase !== "ready" || !checkChatSettings()) return;
  clearProblem(byId("chat-problem"));
  byId("chat-live").textContent = "";
  Object.assign(talk, { writing: true, stopping: false, editing: -1 });
  beginDraft();
  changeConversation({ messages });
  requestAnimationFrame(() => requestAnimationFrame(scrollToEnd));
  try {
    await keepConversation(client);
    if (await load(client, talk.chosen) && !talk.stopping) await ask(client, messages);
  } finally {
    Object.assign(talk, { writing: false, stopping: false });
    changed();
  }
  if (model.phase === "ready") await keepConversation(client);
}

/** @param {Client} client */
function send(client) {
  const { talk } = model;
  const box = promptBox();
  const said = box.value;
  const { messages } = talk.conversation;
  const goesOn = !answersChat() && messages.length > 0;
  if (talk.writing || !talk.chosen || (!said.trim() && !goesOn)) return;
  if (!checkChatSettings()) return;
  box.value = "";
  void turn(client, said ? [...messages, { role: "user", content: said }] : [...messages]);
}

/** @param {Client} client */
async function stop(client) {
  const { talk, library } = model;
  if (!talk.writing || talk.stopping) return;
  talk.stopping = true;
  changed();
  if (library.loading) {
    await unload(client);
    return;
  }
  try {
    await client.command("abort");
  } catch (reason) {
    tellProblem(reason, "chat-problem");
  }
}

function drawComposer() {
  const { talk, library, phase } = model;
  const words = text.chat.composer;
  const { writing, stopping, conversation } = talk;
  const chats = answersChat();
  setText(byId("chat-prompt-label"), chats ? words.label : words.labelText);
  const button = /** @type {HTMLButtonElement} */ (byId("chat-send"));
  button.disabled = writing || phase !== "ready" || !talk.chosen;
  setText(button, chats || conversation.messages.length === 0 ? words.send : words.goOn);
  const stopper = /** @type {HTMLButtonElement} */ (byId("chat-stop"));
  stopper.hidden = !writing;
  stopper.disabled = stopping;
  setText(stopper, stopping ? words.stopping : words.stop);
  byId("chat-log").setAttribute("aria-busy", String(writing));
  if (writing && library.loading) setText(byId("chat-count"), words.loading);
}

/** @param {Client} client */
function setUpComposer(client) {
  byId("chat-form").addEventListener("submit", (event) => {
    event.preventDefault();
    send(client);
  });
  promptBox().addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send(client);
  });
  byId("chat-stop").addEventListener("click", () => void stop(client));
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && model.place === "chat") void stop(client);
  });
  watch((m) => [m.talk.writing, m.talk.stopping, m.talk.chosen, m.phase, m.library.loading,
    m.library.models, m.talk.conversation.messages], drawComposer);
}

/** @param {Client} client */
export function setUpChat(client) {
  setUpTalk(client);
  setUpChatModel(client);
  setUpChatAdapter();
  setUpChatSettings();
  setUpChatFacts(client);
  setUpChatList(client);
  setUpComposer(client);
  const said = () => model.talk.conversation.messages;
  setUpChatLog({
    regenerate: () => void turn(client, said().slice(0, -1)),
    answer: () => void turn(client, [...said()]),
    edit: (at, content) => void turn(client, [...said().slice(0, at), { role: "user", content }]),
  });
}
