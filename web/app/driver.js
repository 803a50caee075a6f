/** `window.tabgrad`: the page for programs that drive it, such as tests and `build.py train`. */

import { whenReady } from "./boot.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Message} Message */

/**
 * Puts the driver on the window at once, before anything has been loaded.
 * @returns {{connect: (client: Client) => void, fail: (message: string) => void}} to be told of
 *   the client, or that there is none
 */
export function offerDriver() {
  /** @type {Set<(message: Message) => void>} */
  const listeners = new Set();
  /** @type {(client: Client) => void} */
  let connect = () => {};
  /** @type {(reason: Error) => void} */
  let refuse = () => {};
  /** @type {Promise<Client>} */
  const connected = new Promise((resolve, reject) => {
    connect = resolve;
    refuse = reject;
  });
  // The page shows by itself that it is incomplete; only a program that asks sees it here.
  connected.catch(() => {});
  connected.then((client) => client.onMessage((message) => {
    for (const listener of listeners) listener(message);
  }), () => {});

  const tabgrad = {
    /** The boot reply; rejects when the start has failed. */
    ready: async () => {
      await connected;
      return whenReady();
    },
    /**
     * Gives a command of protocol.json and returns its reply's result.
     * @param {string} name
     * @param {Record<string, unknown>} [fields]
     */
    command: async (name, fields = {}) => {
      await tabgrad.ready();
      return (await connected).command(name, fields);
    },
    /**
     * Calls a function for every event from the worker; returns what takes it off again.
     * @param {(message: Message) => void} listener
     */
    onMessage: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  Object.assign(window, { tabgrad });
  return { connect, fail: (message) => refuse(new Error(message)) };
}
