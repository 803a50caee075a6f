/** Turns replies about adapters into the model, as session.js does for runs. */

import { model } from "./model.js";

/** @typedef {import("./types.js").Adapter} Adapter */

/** @param {Adapter[]} adapters newest first */
function keep(adapters) {
  model.tune.adapters = [...adapters].sort((a, b) => b.added_at - a.added_at);
}

/** @type {Record<string, (result: any, fields: Record<string, any>) => void>} */
export const TUNE_REPLIES = {
  adapters({ adapters }, { model: base }) {
    // Asked for one model, the answer says nothing of the others.
    const others = base ? model.tune.adapters.filter((known) => known.model !== base) : [];
    keep([...adapters, ...others]);
  },
  add_adapter({ adapter }) {
    keep([adapter, ...model.tune.adapters.filter((known) => known.adapter !== adapter.adapter)]);
  },
  delete_adapter: ({ adapters }) => keep(adapters),
};
