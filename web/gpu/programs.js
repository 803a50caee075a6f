// Programs: shader modules, explicit layouts from the kernel's header, pipelines.

import { GpuFailure } from "./failures.js";

/** @typedef {{ key: string, name: string, code: string, constants: Record<string, number>,
 *   access: ("read" | "read_write")[], label: string }} Program
 */
/** @typedef {{ pipeline: GPUComputePipeline, layout: GPUBindGroupLayout }} Compiled */

export class Programs {
  /**
   * @param {GPUDevice} device
   * @param {import("./failures.js").Failures} failures
   * @param {Record<string, number>} counters
   */
  constructor(device, failures, counters) {
    this.device = device;
    this.failures = failures;
    this.counters = counters;
    /** @type {Map<string, Compiled>} */
    this.compiled = new Map();
    /** @type {Map<string, GPUShaderModule>} */
    this.modules = new Map();
    /** @type {Map<string, { group: GPUBindGroupLayout, pipeline: GPUPipelineLayout }>} */
    this.layouts = new Map();
  }

  /**
   * Compiles all that are new, in parallel.
   * @param {Program[]} programs
   * @param {((done: number, total: number) => void) | null} progress
   */
  async compile(programs, progress) {
    const missing = programs.filter((program) => !this.compiled.has(program.key));
    let done = programs.length - missing.length;
    const results = await Promise.allSettled(missing.map(async (program) => {
      const compiled = await this.make(program);
      this.compiled.set(program.key, compiled);
      this.counters.pipelines += 1;
      done += 1;
      if (progress) progress(done, programs.length);
    }));
    for (const result of results) if (result.status === "rejected") throw result.reason;
    await this.failures.settle();
  }

  /**
   * @param {Program} program
   * @returns {Promise<Compiled>}
   */
  async make(program) {
    const { label, name, constants } = program;
    const { device, failures } = this;
    const filters = /** @type {GPUErrorFilter[]} */ (["validation"]);
    const module = failures.scoped(label, filters, () => this.module(program));
    const layouts = failures.scoped(label, filters, () => this.layout(program.access));
    try {
      const pipeline = await device.createComputePipelineAsync({
        label, layout: layouts.pipeline, compute: { module, entryPoint: name, constants },
      });
      return { pipeline, layout: layouts.group };
    } catch (error) {
      failures.check();
      // The shader compiler's own words, with lines, say more than the pipeline's.
      const { messages } = await module.getCompilationInfo();
      const words = messages.filter((message) => message.type === "error")
        .map((message) => `line ${message.lineNum}: ${message.message}`);
      const failure = await failures.explain(error, label);
      if (failure.name === "DeviceLost" || words.length === 0) throw failure;
      throw new GpuFailure("KernelError", label, words.join("\n"));
    }
  }

  /** @param {Program} program */
  module({ name, code }) {
    let module = this.modules.get(code);
    if (!module) {
      module = this.device.createShaderModule({ label: name, code });
      this.modules.set(code, module);
    }
    return module;
  }

  /** @param {Program["access"]} access */
  layout(access) {
    const label = access.join(",");
    let layouts = this.layouts.get(label);
    if (!layouts) {
      const group = this.device.createBindGroupLayout({
        label,
        entries: access.map((kind, binding) => ({
          binding,
          visibility: GPUShaderStage.COMPUTE,
          buffer: { type: kind === "read" ? "read-only-storage" : "storage" },
        })),
      });
      const pipeline = this.device.createPipelineLayout({ label, bindGroupLayouts: [group] });
      layouts = { group, pipeline };
      this.layouts.set(label, layouts);
    }
    return layouts;
  }
}
