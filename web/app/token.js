/**
 * The access token that a person gave for one host: held here until the page goes, and nowhere
 * else. Nothing but `headersFor` reads it, and it gives it for addresses of that host alone.
 */

import { changed } from "./model.js";

/** The hub that a name without a host, "owner/name", is looked for on; and its other names. */
const HUB = "https://huggingface.co";
const HUB_ALIASES = ["hf.co", "www.huggingface.co"];
const HERE = ["localhost", "127.0.0.1"];

/** @type {{origin: string, token: string} | null} */
let held = null;
let version = 0;

/**
 * The origin that a model's files would be asked from: over https, or of this computer.
 * @param {string} source as the person typed it, or as a model's facts say it
 * @returns {string} empty where it is no such address
 */
export function originOf(source) {
  const address = source.trim();
  if (/^[^\s/:]+\/[^\s/:]+$/.test(address)) return HUB;
  const url = URL.parse(address);
  if (!url || !["https:", "http:"].includes(url.protocol)) return "";
  if (HUB_ALIASES.includes(url.host)) return HUB;
  return url.protocol === "https:" || HERE.includes(url.hostname) ? url.origin : "";
}

/** The host as people name it. @param {string} source */
export function hostOf(source) {
  return originOf(source).replace(/^https?:\/\//, "");
}

/** Whether this is of the hub, where licences are accepted. @param {string} source */
export function isOfHub(source) {
  return originOf(source) === HUB;
}

/** The model's own page on the hub. @param {string} source */
export function modelPage(source) {
  const [owner, name] = source.trim().replace(/^https?:\/\/[^/]+\//, "").split("/");
  return `${HUB}/${owner}/${name}`;
}

/** Where the hub makes tokens. */
export const TOKENS_PAGE = `${HUB}/settings/tokens`;

/**
 * Holds a token for the host of a source, in the place of the one before.
 * @param {string} source
 * @param {string} value
 * @returns {boolean} false where it can be no token
 */
export function hold(source, value) {
  const [token, origin] = [value.trim(), originOf(source)];
  if (!/^[!-~]+$/.test(token) || origin === "") return false;
  held = { origin, token };
  version += 1;
  changed();
  return true;
}

export function forget() {
  held = null;
  version += 1;
  changed();
}

/** Whether requests for this source would carry the token. @param {string} source */
export function isHeldFor(source) {
  return held !== null && held.origin === originOf(source);
}

/** The host that a token is held for; empty where none is. */
export function heldFor() {
  return held ? hostOf(held.origin) : "";
}

/** Another number whenever the token is another. */
export function tokenVersion() {
  return version;
}

/**
 * What a command that asks a host says beside its source.
 * @param {string} source
 * @returns {{headers?: Record<string, string>}}
 */
export function headersFor(source) {
  return held && isHeldFor(source) ? { headers: { Authorization: `Bearer ${held.token}` } } : {};
}
