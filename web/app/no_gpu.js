/** What a visitor without WebGPU can do about it: the browser, its version, the exact switch. */

import { text } from "./strings.js";

/**
 * Measured in Chromium on two cores: a step of `tiny` at batch 4 took 148 ms with NumPy and 89 ms
 * with WebGPU on a software adapter, which computes on the same cores. Real GPUs are further ahead.
 */
export const CPU_TIMES_SLOWER = 1.7;

/**
 * The sentence for this browser.
 * @param {string} agent navigator.userAgent
 */
export function webgpuAdvice(agent) {
  const firefox = agent.match(/Firefox\/(\d+)/);
  if (firefox) return text.noGpu.firefox(firefox[1]);
  const chromium = agent.match(/(Edg|Chrome|Chromium)\/(\d+)/);
  if (chromium) {
    const edge = agent.match(/Edg\/(\d+)/);
    return edge ? text.noGpu.chromium("Edge", edge[1])
      : text.noGpu.chromium("Chrome", chromium[2]);
  }
  const safari = agent.match(/Version\/([\d.]+).*Safari/);
  return safari ? text.noGpu.safari(safari[1]) : text.noGpu.other;
}
