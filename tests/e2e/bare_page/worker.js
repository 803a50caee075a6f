import { boot, run } from "./python.js";

self.onmessage = async ({ data: { id, wheel, code } }) => {
  try {
    self.postMessage({ id, result: wheel ? await boot(wheel) : await run(code) });
  } catch (error) {
    self.postMessage({ id, error: String(error?.message ?? error) });
  }
};
