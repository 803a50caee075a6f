/**
 * Small choices that outlive a visit. Where the browser keeps nothing (storage switched off),
 * a choice lasts as long as the page: that is all there is to lose.
 */

/** @type {Map<string, string>} */
const page = new Map();

/**
 * @param {string} key
 * @param {string} value
 */
export function remember(key, value) {
  page.set(key, value);
  try {
    localStorage.setItem(key, value);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}

/**
 * @param {string} key
 * @returns {string | null}
 */
export function recall(key) {
  try {
    return localStorage.getItem(key) ?? page.get(key) ?? null;
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return page.get(key) ?? null;
  }
}
