// The adapter: the fastest there is, with its own limits instead of WebGPU's smallest.

import { GpuFailure } from "./failures.js";

/** Limits for which we ask the adapter's maximum.
 * @type {(keyof GPUSupportedLimits & string)[]}
 */
const LIMITS = [
  "maxStorageBufferBindingSize", "maxBufferSize", "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize", "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX", "maxComputeWorkgroupSizeY", "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
];

/** Features that we use where they are.
 * @type {GPUFeatureName[]}
 */
const FEATURES = ["shader-f16", "subgroups", "timestamp-query"];

/**
 * @returns {Promise<{ device: GPUDevice, info: string }>} the device, and JSON that says what it is
 */
export async function openDevice() {
  if (!navigator.gpu) {
    throw new GpuFailure("NoAdapter", "WebGPU", "this browser does not have it here");
  }
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new GpuFailure("NoAdapter", "WebGPU", "the browser offers no adapter");
  const features = FEATURES.filter((name) => adapter.features.has(name));
  /** @type {Record<string, number>} */
  const limits = {};
  for (const name of LIMITS) {
    const most = adapter.limits[name];
    if (typeof most === "number") limits[name] = most;
  }
  const device = await request(adapter, features, limits);
  const granted = Object.fromEntries(LIMITS.map((name) => [name, device.limits[name]]));
  const { vendor, architecture, device: model, description } = adapter.info;
  const info = JSON.stringify({
    name: description || model || vendor || "WebGPU adapter",
    vendor, architecture, features, limits: granted,
  });
  return { device, info };
}

/**
 * @param {GPUAdapter} adapter
 * @param {GPUFeatureName[]} requiredFeatures
 * @param {Record<string, number>} requiredLimits
 */
async function request(adapter, requiredFeatures, requiredLimits) {
  try {
    return await adapter.requestDevice({ label: "tabgrad", requiredFeatures, requiredLimits });
  } catch (error) {
    throw new GpuFailure("NoAdapter", "WebGPU", error instanceof Error ? error.message
      : String(error));
  }
}
