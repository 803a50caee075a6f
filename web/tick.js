/** Resolves after everything that waits in the event loop now has had its turn. Unlike a timer it
 * is not slowed down in a hidden tab.
 * @returns {Promise<void>}
 */
export function tick() {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });
}
