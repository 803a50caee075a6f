/** Where an access token is given, before a host asks and after, and where it is forgotten. */

import { byId, make, setText } from "./dom.js";
import { lookAt, say } from "./library.js";
import { model, watch } from "./model.js";
import { clearProblem, describeProblem, showProblem } from "./problems.js";
import { text } from "./strings.js";
import { forget, heldFor, hold, hostOf, isHeldFor, isOfHub, modelPage, originOf, TOKENS_PAGE,
  tokenVersion } from "./token.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Problem} Problem */

/**
 * Takes what a field has, and empties it.
 * @param {string} id of the field
 * @param {string} source whose host it is for
 * @param {HTMLElement} home where a problem belongs
 */
function take(id, source, home) {
  const field = /** @type {HTMLInputElement} */ (byId(id));
  clearProblem(home);
  if (!hold(source, field.value)) {
    showProblem({ code: "settings", message: text.models.token.odd, control: id }, home);
    return false;
  }
  field.value = "";
  return true;
}

/**
 * Takes the token beside an address of one's own, if there is one.
 * @param {string} source
 * @returns {boolean} false where it can be none
 */
export function takeOwn(source) {
  const { value } = /** @type {HTMLInputElement} */ (byId("own-token"));
  return value === "" || originOf(source) === "" || take("own-token", source, byId("own-problem"));
}

/** @param {string} words @param {string} href */
function link(words, href) {
  return make("a", { href, target: "_blank", rel: "noopener noreferrer", text: words });
}

/**
 * What a host wants that refused, as nodes.
 * @param {Problem} problem
 * @param {string} source
 */
export function wants(problem, source) {
  const words = text.models.token;
  const said = describeProblem({ ...problem, remedy: null });
  const again = isHeldFor(source) ? [make("p", { text: words.notEnough(hostOf(source)) })] : [];
  if (!isOfHub(source)) {
    return [...said, ...again, make("p", { text: words.askHost(hostOf(source)) })];
  }
  return [...said, ...again, make("ol", { class: "steps" }, [
    make("li", {}, [words.accept, " ", link(words.modelPage, modelPage(source))]),
    make("li", {}, [words.create, " ", link(words.tokensPage, TOKENS_PAGE)]),
    make("li", { text: words.paste }),
  ])];
}

/**
 * Says that a token is held, and lets it be forgotten.
 * @param {string} id of the button
 * @param {() => HTMLElement} next what has the focus when the button is gone
 */
export function heldRow(id, next) {
  const words = text.models.token;
  return make("div", { class: "row" }, [
    make("span", { class: "note", text: words.held(heldFor()) }),
    make("button", { type: "button", class: "quiet", id, text: words.forget,
      "aria-label": words.forgetOf(heldFor()), onclick: () => {
        forget();
        say(words.forgotten);
        next().focus();
      } }),
  ]);
}

/**
 * Shows the form in the sheet of a model that was refused, and hides it otherwise.
 * @param {string | null} source of the model; null where nothing was refused
 */
export function drawTokenForm(source) {
  const field = /** @type {HTMLInputElement} */ (byId("access-token"));
  const form = byId("token-form");
  form.hidden = source === null;
  if (source === null) {
    field.value = "";
    clearProblem(byId("token-problem"));
    return;
  }
  setText(byId("access-token-hint"), text.models.token.hint(hostOf(source)));
}

/**
 * @param {Client} client
 * @param {() => void} close closes the sheet
 */
export function setUpTokenForm(client, close) {
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const { sheet } = model.library;
    if (!sheet?.refused || !take("access-token", sheet.source, byId("token-problem"))) return;
    const { at, source, title } = sheet;
    void lookAt(client, { at, source, title });
  });
  byId("token-no").addEventListener("click", close);
  watch(() => [tokenVersion()], () => {
    byId("own-held").replaceChildren(
      ...(heldFor() ? [heldRow("own-forget", () => byId("own-source"))] : []));
  });
}
