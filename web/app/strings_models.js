/** The words of the Models place. */

export const models = {
  heading: "Models for this tab. Nothing is downloaded before you agree.",
  waiting: "Models appear here in a moment.",

  catalogue: {
    heading: "Catalogue", get: "Get",
    getOf: (/** @type {string} */ title) => `Get ${title}: see what it takes`,
    line: (/** @type {string} */ parameters, /** @type {string} */ size,
      /** @type {string} */ licence) => `${parameters} parameters \u00b7 ${size} \u00b7 ${licence}`,
    chats: "chats", goesOn: "goes on from a text", here: "here",
  },

  own: {
    heading: "Your own", label: "Address of a model's folder",
    hint: "A name of the Hugging Face hub, such as owner/name, or the address of any folder with " +
      "config.json, tokenizer.json and .safetensors files.",
    look: "Look", empty: "Write an address first.",
    drop: "Drop a model's folder anywhere on this page, or choose it here. Its files are copied " +
      "into this browser and go nowhere else.",
    files: "Choose files", folder: "Choose a folder",
    noModel: "No model was found in this folder.",
    expected: "config.json, tokenizer.json and .safetensors files", title: "dropped model",
    received: (/** @type {string} */ count) => `${count} files, none of these`,
  },

  token: {
    label: "Access token", own: "If the host asks for an access token", use: "Use it",
    ownHint: "Taken with Look. It is held in the memory of this page until you close or reload " +
      "it, and sent only to the host of the address above.",
    hint: (/** @type {string} */ host) => "It is held in the memory of this page until you close " +
      `or reload it, and sent only to ${host}.`,
    heading: (/** @type {string} */ title) => `${title} asks for an access token`,
    accept: "Sign in and accept the licence on", modelPage: "the model's page (new tab)",
    create: "Make a token of the kind Read in", tokensPage: "your settings there (new tab)",
    paste: "Copy the token into this field.",
    askHost: (/** @type {string} */ host) =>
      `Ask whoever runs ${host} for a token that may read this model. It goes as a bearer token.`,
    notEnough: (/** @type {string} */ host) => `The token that is held for ${host} was not ` +
      "enough: it may have ended, or its account may not read this model.",
    odd: "This is no access token: it is empty, or has a character that none may have.",
    held: (/** @type {string} */ host) => `Your access token for ${host} is held for this visit.`,
    forget: "Forget it",
    forgetOf: (/** @type {string} */ host) => `Forget it: the access token for ${host}`,
    forgotten: "The access token is forgotten.",
  },

  sheet: {
    heading: (/** @type {string} */ title) => `What ${title} takes`,
    looking: "Looking: only small files are read.",
    from: "From", bytes: "To download", files: "Files", licence: "Licence",
    noLicence: "not stated", type: "Architecture", parameters: "Parameters",
    precision: "Stored as", context: "Reads at most", tokens: (/** @type {string} */ n) =>
      `${n} tokens`,
    gpu: "GPU memory for its weights", free: "Free in this browser", unknown: "not known",
    each: (/** @type {string} */ count) => `The ${count} files`,
    agree: (/** @type {string} */ size) => `Agree and download ${size}`, no: "Not now",
    noRoom: (/** @type {string} */ size) =>
      `There is not enough room: ${size} are missing. Delete a model or a run first.`,
    busy: "Another model is coming. One at a time.",
  },

  transfer: {
    heading: (/** @type {string} */ title) => `${title} is coming`,
    adopting: (/** @type {string} */ title) => `${title} is being copied`,
    begins: "Beginning", total: "In total", cancel: "Cancel", cancelling: "Cancelling",
    amount: (/** @type {string} */ done, /** @type {string} */ all) => `${done} of ${all}`,
    left: (/** @type {string} */ time) => `about ${time} left`,
    cancelled: "Cancelled. What came is kept: go on or delete it below.",
    dropped: "Cancelled. Nothing of it was kept.",
    arrived: (/** @type {string} */ title) => `${title} is here.`,
  },

  here: {
    heading: "Here", none: "No model is here yet.", chat: "Chat", loaded: "on the GPU",
    unload: "Unload", keep: "Keep", delete: "Delete", goOn: "Go on",
    ofModel: (/** @type {string} */ action, /** @type {string} */ title) => `${action} ${title}`,
    line: (/** @type {string[]} */ parts) => parts.join(" \u00b7 "),
    cut: (/** @type {string} */ done, /** @type {string} */ all) =>
      `cut off at ${done} of ${all}`,
    noSource: "It is not known any more where it came from: delete it and begin again.",
    confirm: (/** @type {string} */ title, /** @type {string} */ size) =>
      `Delete ${title} (${size})? It can only come back by another download.`,
    confirmYes: (/** @type {string} */ title) => `Delete ${title}`, confirmNo: "Leave it",
    keepHint: "A kept model cannot be deleted by mistake, and the browser is asked to spare it.",
  },

  storage: {
    used: (/** @type {string} */ used, /** @type {string} */ quota) =>
      `${used} of ${quota} used by this page`,
    usedOnly: (/** @type {string} */ used) => `${used} used by this page`,
    label: "Room used", local: "Stored only in this browser.",
    notKept: "It may clear them when the disk runs short.",
  },
};
