// Where a plan's time goes: timestamps around each launch, or the clock where there are none.

/** @typedef {import("../replay.js").ReplayGpu} ReplayGpu */
/** @typedef {import("../replay.js").Command} Command */
/** @typedef {[label: string, milliseconds: number]} Row */

/** Timestamps in one query set; WebGPU allows 4096. */
const QUERIES = 4096;

/**
 * Runs the commands once and times each.
 * @param {ReplayGpu} gpu
 * @param {Command[]} commands
 * @returns {Promise<Row[]>}
 */
export async function profilePlan(gpu, commands) {
  await gpu.staging.drained();
  if (!gpu.device.features.has("timestamp-query")) return byClock(gpu, commands);
  /** @type {Row[]} */
  const rows = [];
  for (let start = 0; start < commands.length; start += QUERIES / 2) {
    rows.push(...await byTimestamps(gpu, commands.slice(start, start + QUERIES / 2)));
  }
  return rows;
}

/**
 * @param {ReplayGpu} gpu
 * @param {Command[]} commands
 * @returns {Promise<Row[]>}
 */
async function byTimestamps(gpu, commands) {
  const { device } = gpu;
  const bytes = commands.length * 16;
  const querySet = device.createQuerySet({ label: "profile", type: "timestamp",
    count: commands.length * 2 });
  const resolved = device.createBuffer({ label: "profile", size: bytes,
    usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
  const encoder = device.createCommandEncoder({ label: "profile" });
  commands.forEach((command, i) => {
    const stamps = { querySet, beginningOfPassWriteIndex: 2 * i, endOfPassWriteIndex: 2 * i + 1 };
    if ("encode" in command) {
      command.encode(encoder);
      encoder.beginComputePass({ label: command.label, timestampWrites: stamps }).end();
      return;
    }
    const pass = encoder.beginComputePass({ label: command.label, timestampWrites: stamps });
    pass.setPipeline(command.pipeline);
    pass.setBindGroup(0, command.group);
    pass.dispatchWorkgroups(command.x, command.y, command.z);
    pass.end();
  });
  const staging = gpu.staging.take(bytes);
  encoder.resolveQuerySet(querySet, 0, commands.length * 2, resolved, 0);
  encoder.copyBufferToBuffer(resolved, 0, staging, 0, bytes);
  gpu.submit(encoder);
  const data = await gpu.staging.fetch(staging, bytes);
  querySet.destroy();
  resolved.destroy();
  const times = new BigUint64Array(data.buffer, 0, commands.length * 2);
  return commands.map((command, i) =>
    [command.label, Number(times[2 * i + 1] - times[2 * i]) / 1e6]);
}

/**
 * @param {ReplayGpu} gpu
 * @param {Command[]} commands
 * @returns {Promise<Row[]>}
 */
async function byClock(gpu, commands) {
  /** @type {Row[]} */
  const rows = [];
  for (const command of commands) {
    const start = performance.now();
    const encoder = gpu.device.createCommandEncoder({ label: "profile" });
    gpu.encode(encoder, [command], 0, 1);
    gpu.submit(encoder);
    await gpu.staging.drained();
    rows.push([command.label, performance.now() - start]);
  }
  return rows;
}
