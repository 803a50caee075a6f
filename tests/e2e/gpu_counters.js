// Counts what a worker asks of WebGPU, by wrapping the prototypes. Evaluated in the worker; a
// second time it does nothing. Buffers that only the garbage collector frees count as held.
(() => {
  if (self.gpuCounters) return;
  const counts = {
    buffers: 0, bind_groups: 0, pipelines: 0, submits: 0, dispatches: 0, maps: 0, bytes: 0,
    peak_bytes: 0,
  };
  const sizes = new WeakMap();
  const bySteps = [];

  const wrap = (type, name, after) => {
    const original = type.prototype[name];
    type.prototype[name] = function (...args) {
      const result = original.apply(this, args);
      after.call(this, result, args);
      return result;
    };
  };
  const counted = (type, name, key) => wrap(type, name, () => { counts[key] += 1; });

  wrap(GPUDevice, "createBuffer", (buffer, [{ size }]) => {
    counts.buffers += 1;
    counts.bytes += size;
    counts.peak_bytes = Math.max(counts.peak_bytes, counts.bytes);
    sizes.set(buffer, size);
  });
  wrap(GPUBuffer, "destroy", function () {
    counts.bytes -= sizes.get(this) ?? 0;
    sizes.delete(this);
  });
  counted(GPUDevice, "createBindGroup", "bind_groups");
  for (const name of ["createComputePipeline", "createComputePipelineAsync",
    "createRenderPipeline", "createRenderPipelineAsync", "createShaderModule"]) {
    counted(GPUDevice, name, "pipelines");
  }
  counted(GPUQueue, "submit", "submits");
  counted(GPUBuffer, "mapAsync", "maps");
  counted(GPUComputePassEncoder, "dispatchWorkgroups", "dispatches");
  counted(GPUComputePassEncoder, "dispatchWorkgroupsIndirect", "dispatches");

  const post = self.postMessage;
  self.postMessage = (message, ...rest) => {
    if (message?.name === "progress") {
      bySteps.push([message.run, message.step, { ...counts, ms: performance.now() }]);
    }
    return post.call(self, message, ...rest);
  };
  self.gpuCounters = { counts, bySteps };
})();
