/** The conversations that are kept in this browser. */

import { askFirst } from "./deletion.js";
import { byId, fillKeepingFocus, make, setText } from "./dom.js";
import { ago } from "./format.js";
import { tellProblem } from "./library.js";
import { model, ownState, watch } from "./model.js";
import { clearProblem } from "./problems.js";
import { text } from "./strings.js";
import { newConversation, showConversation, titleOf } from "./talk.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Conversation} Conversation */

/** The conversation whose deletion waits for a yes. */
const state = ownState({ doomed: "" });

/**
 * @param {Client} client
 * @param {Conversation} conversation
 */
async function forget(client, conversation) {
  state.doomed = "";
  clearProblem(byId("chat-list-problem"));
  const name = conversation.conversation;
  try {
    await client.command("delete_conversation", { conversation: name });
    if (model.talk.conversation.conversation === name) newConversation();
  } catch (reason) {
    tellProblem(reason, "chat-list-problem");
  }
  state.redraw();
}

/**
 * @param {Client} client
 * @param {Conversation} conversation
 */
function confirmation(client, conversation) {
  const words = text.chat.list;
  const name = conversation.conversation;
  return make("div", { class: "confirm", role: "group" }, [
    make("p", { text: words.confirm(titleOf(conversation)) }),
    make("div", { class: "row" }, [
      make("button", {
        type: "button", id: `yes-${name}`, text: words.delete,
        "aria-label": words.deleteOf(titleOf(conversation)),
        onclick: () => void forget(client, conversation),
      }),
      make("button", {
        type: "button", class: "quiet", id: `no-${name}`, text: words.confirmNo,
        onclick: () => {
          state.doomed = "";
          state.redraw();
        },
      }),
    ]),
  ]);
}

/**
 * @param {Client} client
 * @param {Conversation} conversation
 */
function row(client, conversation) {
  const words = text.chat.list;
  const name = conversation.conversation;
  const here = model.talk.conversation.conversation === name;
  const open = make("button", {
    type: "button", class: "quiet title", id: `open-${name}`, disabled: model.talk.writing,
    onclick: () => showConversation(conversation),
  }, [make("span", { text: titleOf(conversation) }),
    make("span", { class: "note", text: ago(conversation.updated_at) })]);
  if (here) open.setAttribute("aria-current", "true");
  return make("li", { class: here ? "here" : "" }, [
    make("div", { class: "run-head" }, [open, make("button", {
      type: "button", class: "quiet", id: `forget-${name}`, text: words.delete,
      "aria-label": words.deleteOf(titleOf(conversation)),
      disabled: here && model.talk.writing,
      onclick: () => askFirst(state, name, `yes-${name}`),
    })]),
    ...(state.doomed === name ? [confirmation(client, conversation)] : []),
  ]);
}

/** @param {Client} client */
export function setUpChatList(client) {
  byId("chat-new").addEventListener("click", () => {
    newConversation();
    byId("chat-prompt").focus();
  });
  watch((m) => [m.talk.kept, m.talk.conversation.conversation, m.talk.writing,
    state.version], () => {
    const { kept, writing } = model.talk;
    fillKeepingFocus(byId("chat-list"), kept.map((one) => row(client, one)));
    setText(byId("chat-list-none"), kept.length ? "" : text.chat.list.none);
    /** @type {HTMLButtonElement} */ (byId("chat-new")).disabled = writing;
  });
}
