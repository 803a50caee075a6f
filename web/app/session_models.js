/** Turns replies and events about models and conversations into the model, as session.js does. */

import { model } from "./model.js";

/** @typedef {import("./types.js").Message} Message */
/** @typedef {import("./types.js").StoredModel} StoredModel */

/** @param {StoredModel} fresh a model that has just arrived, in the place of what was cut off */
function keepModel(fresh) {
  const { library } = model;
  library.models = [fresh, ...library.models.filter((known) => known.model !== fresh.model)];
  library.catalogue = library.catalogue.map((entry) =>
    (entry.source === fresh.source ? { ...entry, model: fresh.model } : entry));
}

/** @param {StoredModel[]} models */
function keepModels(models) {
  const { library } = model;
  library.models = models;
  const loaded = library.loaded?.model.model;
  const here = models.some((one) => one.model === loaded)
    || model.runs.some((run) => run.run === loaded);
  if (!here) library.loaded = null;
}

/** @type {Record<string, (result: any, fields: Record<string, any>) => void>} */
export const LIBRARY_REPLIES = {
  models({ catalogue, models, used, quota, persistent }) {
    Object.assign(model.library,
      { catalogue, used, quota: quota ?? null, persistent, known: true });
    keepModels(models);
  },
  download_model: (result) => keepModel(result.model),
  add_model: (result) => keepModel(result.model),
  delete_model({ models }, fields) {
    keepModels(models);
    const { library } = model;
    library.catalogue = library.catalogue.map((entry) =>
      (entry.model === fields.model ? { ...entry, model: null } : entry));
  },
  keep_model: ({ models }) => keepModels(models),
  load_model(result) {
    model.library.loaded = result;
    model.stages = [];
  },
  unload_model() {
    model.library.loaded = null;
  },
  conversations({ conversations }) {
    model.talk.kept = conversations;
    model.talk.known = true;
  },
  save_conversation(_, { conversation }) {
    const others = model.talk.kept.filter(
      (known) => known.conversation !== conversation.conversation);
    model.talk.kept = [conversation, ...others];
  },
  delete_conversation({ conversations }) {
    model.talk.kept = conversations;
  },
};

/** @type {Record<string, (message: Message) => void>} */
export const LIBRARY_EVENTS = {
  transfer({ file, file_done, file_bytes, done, bytes, seconds_left }) {
    const { library } = model;
    // One that a program asked for has no place in the page.
    if (!library.transfer) return;
    library.transfer = {
      ...library.transfer, file, fileDone: file_done, fileBytes: file_bytes, done, bytes,
      secondsLeft: seconds_left ?? null,
    };
  },
};
