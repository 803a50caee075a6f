/** The words of the Chat place. */

export const chat = {
  heading: "Chat in this tab. What you write stays here.",

  model: {
    label: "Model", waiting: "Models appear here in a moment.", load: "Load", stop: "Stop",
    toModels: "Models",
    none: "No model is here yet.", choose: "Choose one under Models",
    option: (/** @type {string} */ title, /** @type {string} */ size) => `${title} \u00b7 ${size}`,
    ready: (/** @type {string} */ title, /** @type {string} */ context,
      /** @type {string} */ gpu) =>
      `${title} is loaded: reads at most ${context} tokens, ${gpu} on the GPU.`,
    notLoaded: (/** @type {string} */ title) =>
      `${title} is here and not loaded. It loads when you send, or now.`,
    loading: (/** @type {string} */ title) => `Loading ${title}`,
    stopped: "The loading was stopped.",
    gone: (/** @type {string} */ name) =>
      `The model of this conversation, ${name}, is not here any more. Choose another.`,
    noTemplate: "It was not trained to answer: it goes on from what you write, as one text.",
  },

  log: {
    label: "Conversation", you: "You", model: "Model", system: "System",
    empty: "Write something below. Enter sends it, Shift and Enter begin a new line, Escape stops.",
    emptyText: "Write the beginning of a text below. The model goes on from it.",
    waiting: "Reading", copy: "Copy", copied: "Copied", edit: "Edit", again: "Regenerate",
    answer: "Answer this",
    sameAgain: "With temperature 0 the same answer comes again.",
    editLabel: "Your message",
    editHint: "Sending it again removes what came after it.", sendEdited: "Send again",
    cancelEdit: "Cancel",
    announce: (/** @type {string} */ answer) => `Answer: ${answer}`,
  },

  composer: {
    label: "Message", labelText: "Text", send: "Send", goOn: "Go on", stop: "Stop",
    stopping: "Stopping", loading: "Loading", noModel: "Get a model first.",
    tokens: (/** @type {string} */ n, /** @type {string} */ all) => `${n} of ${all} tokens`,
    tooLong: (/** @type {string} */ n, /** @type {string} */ all) =>
      `${n} tokens: more than the ${all} that the model can read. Shorten it, or begin anew.`,
  },

  settings: {
    heading: "Settings", system: "System prompt",
    systemHint: "Said to the model before the conversation. Some models were not trained with one.",
    all: "All settings", reset: "Reset", resetAll: "Reset all settings",
    own: (/** @type {string} */ value) => `Model's own: ${value}.`,
    ownUnknown: "Empty: the model's own.", anew: "Empty: a new one for each answer.",
    names: /** @type {Record<string, [string, string]>} */ ({
      temperature: ["Temperature",
        "0 always takes the likeliest token; 1 follows the model; higher is wilder."],
      top_p: ["Top-p",
        "Only the likeliest tokens that share this much of the probability; 1 is all."],
      max_new_tokens: ["New tokens", "The longest answer. It is cut there, even in a sentence."],
      top_k: ["Top-k", "Only the k likeliest tokens; 0 is all. Fewer is safer and duller."],
      min_p: ["Min-p",
        "Drops tokens less likely than this part of the likeliest. 0 drops none."],
      repetition_penalty: ["Repetition penalty",
        "Above 1, words that were used get less likely. Too high and the language breaks."],
      frequency_penalty: ["Frequency penalty",
        "Each time a token is written it gets less likely by this much."],
      presence_penalty: ["Presence penalty",
        "A token that was written once gets less likely by this much."],
      seed: ["Seed", "Same seed, same conversation, same device: the same answer."],
    }),
  },

  facts: {
    heading: "Last answer", none: "Times and counts of an answer appear here.",
    written: "Tokens written", prompt: "Tokens of the conversation", read: "Read now",
    reused: "Known from before", first: "First token after", prefill: "Reading",
    decode: "Writing", bandwidth: "Text", seed: "Seed", ended: "Ended",
    rate: (/** @type {string} */ n) => `${n} tokens/s`,
    kilobytes: (/** @type {string} */ n) => `${n} KB/s`,
    reasons: /** @type {Record<string, string>} */ ({
      stop: "by the model", length: "at the limit of new tokens", abort: "stopped by you" }),
    short: (/** @type {string} */ n, /** @type {string} */ rate, /** @type {string} */ first) =>
      `${n} tokens \u00b7 ${rate} tokens/s \u00b7 first after ${first}`,
    cut: "cut at the limit of new tokens", stopped: "stopped by you",
  },

  list: {
    heading: "Conversations", new: "New conversation", none: "Conversations are listed here.",
    local: "Stored only in this browser.", delete: "Delete", untitled: "Untitled",
    deleteOf: (/** @type {string} */ title) => `Delete ${title}`,
    confirm: (/** @type {string} */ title) => `Delete "${title}"? This cannot be undone.`,
    confirmNo: "Keep it",
  },
};
