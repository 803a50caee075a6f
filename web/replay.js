// Replays recorded plans on the GPU: the hot loop of training and generation, no Python in it.
// Python (tabgrad/platform/browser.py) sends descriptors as JSON text and data as one Uint8Array.

import { openDevice } from "./gpu/adapter.js";
import { Failures, GpuFailure } from "./gpu/failures.js";
import { profilePlan } from "./gpu/profile.js";
import { Programs } from "./gpu/programs.js";
import { Staging } from "./gpu/staging.js";
import { uploadFile } from "./gpu/upload.js";

/** Longest piece of one readback, so that a large tensor needs no large staging buffer. */
const PIECE_BYTES = 8 * 2 ** 20;

/** @typedef {[buffer: number, offset: number, size: number]} Range */
/** @typedef {{ launch: [string, Range[], number[], string] } | { clear: Range }
 *   | { copy: [number, number, number, number, number] }} CommandText */
/** @typedef {{ pipeline: GPUComputePipeline, group: GPUBindGroup, x: number, y: number, z: number,
 *   label: string }} Launch */
/** @typedef {{ label: string, encode: (encoder: GPUCommandEncoder) => void }} Transfer */
/** @typedef {Launch | Transfer} Command */
/** @typedef {{ plans: number[], feed: Range | null, steps: number, readback: Range | null,
 *   parts: number }} ReplayText */

/** Opens a device with everything that the adapter has. */
export async function openGpu() {
  const { device, info } = await openDevice();
  const gpu = new ReplayGpu(device, info);
  await gpu.staging.calibrate();
  return gpu;
}

export class ReplayGpu {
  /**
   * @param {GPUDevice} device
   * @param {string} info
   */
  constructor(device, info) {
    this.device = device;
    this.info = info;
    this.closed = false;
    /** @type {((reason: string, message: string) => void) | null} */
    this.onLost = null;
    /** @type {Record<string, number>} */
    this.made = { buffers: 0, bind_groups: 0, pipelines: 0, submits: 0, dispatches: 0,
      live_buffers: 0, bytes: 0 };
    this.failures = new Failures(device);
    this.programs = new Programs(device, this.failures, this.made);
    this.staging = new Staging(device, this.failures, this.made);
    /** @type {Map<number, GPUBuffer>} */
    this.buffers = new Map();
    /** @type {Map<number, { label: string, commands: Command[], proven: boolean }>} */
    this.plans = new Map();
    this.nextId = 1;
    device.lost.then(({ reason, message }) => this.lose(reason, message));
  }

  /**
   * @param {string} reason
   * @param {string} message
   */
  lose(reason, message) {
    this.failures.lost ??= new GpuFailure("DeviceLost", "GPU device", message || reason);
    // Reason "destroyed" without our close comes from someone else's device.destroy().
    if (!this.closed && this.onLost) this.onLost(reason ?? "unknown", message);
  }

  /** @param {((reason: string, message: string) => void) | null} callback */
  setOnLost(callback) {
    this.onLost = callback;
  }

  /**
   * @param {string} text JSON list of programs
   * @param {((done: number, total: number) => void) | null} progress
   */
  async compile(text, progress) {
    this.failures.check();
    await this.programs.compile(JSON.parse(text), progress);
  }

  /**
   * @param {number} size
   * @param {string} label
   */
  createBuffer(size, label) {
    this.failures.check();
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const buffer = this.failures.scoped(`${label} (${size} bytes)`,
      ["validation", "out-of-memory"], () => this.device.createBuffer({ label, size, usage }));
    this.buffers.set(this.nextId, buffer);
    this.made.buffers += 1;
    this.made.live_buffers += 1;
    this.made.bytes += size;
    return this.nextId++;
  }

  /** @param {number} id */
  destroyBuffer(id) {
    const buffer = this.buffer(id);
    this.buffers.delete(id);
    this.made.live_buffers -= 1;
    this.made.bytes -= buffer.size;
    buffer.destroy();
  }

  /** @param {number} id */
  buffer(id) {
    const buffer = this.buffers.get(id);
    if (!buffer) throw new GpuFailure("KernelError", `buffer ${id}`, "there is none");
    return buffer;
  }

  /**
   * @param {number} id
   * @param {number} offset
   * @param {Uint8Array<ArrayBuffer>} data
   */
  write(id, offset, data) {
    this.failures.check();
    this.device.queue.writeBuffer(this.buffer(id), offset, data);
  }

  /**
   * Copies bytes of a file in, in the order of the queue.
   * @param {number} id
   * @param {number} offset
   * @param {import("./opfs.js").Files} files
   * @param {string} path
   * @param {number} fileOffset
   * @param {number} size
   */
  async upload(id, offset, files, path, fileOffset, size) {
    this.failures.check();
    const file = await files.file(path, false);
    await uploadFile(this, this.buffer(id), offset, file, fileOffset, size);
  }

  /**
   * @param {number} id
   * @param {number} offset
   * @param {number} size
   * @returns {Promise<Uint8Array>}
   */
  async read(id, offset, size) {
    this.failures.check();
    const source = this.buffer(id);
    const result = new Uint8Array(size);
    for (let start = 0; start < size; start += PIECE_BYTES) {
      const length = Math.min(PIECE_BYTES, size - start);
      const staging = this.staging.take(length);
      const encoder = this.device.createCommandEncoder({ label: `read ${source.label}` });
      encoder.copyBufferToBuffer(source, offset + start, staging, 0, length);
      this.submit(encoder);
      result.set(await this.staging.fetch(staging, length), start);
    }
    return result;
  }

  /**
   * @param {string} text JSON list of commands
   * @param {string} label
   */
  createPlan(text, label) {
    this.failures.check();
    /** @type {CommandText[]} */
    const commands = JSON.parse(text);
    this.plans.set(this.nextId, { label, proven: false,
      commands: commands.map((command) => this.command(command)) });
    return this.nextId++;
  }

  /**
   * @param {CommandText} text
   * @returns {Command}
   */
  command(text) {
    if ("launch" in text) return this.launch(...text.launch);
    if ("clear" in text) {
      const [id, offset, size] = text.clear;
      const buffer = this.buffer(id);
      return { label: "clear", encode: (encoder) => encoder.clearBuffer(buffer, offset, size) };
    }
    const [from, fromOffset, to, toOffset, size] = text.copy;
    const [source, target] = [this.buffer(from), this.buffer(to)];
    return { label: "copy", encode: (encoder) =>
      encoder.copyBufferToBuffer(source, fromOffset, target, toOffset, size) };
  }

  /**
   * @param {string} key
   * @param {Range[]} bindings
   * @param {number[]} groups
   * @param {string} label
   * @returns {Launch}
   */
  launch(key, bindings, groups, label) {
    const program = this.programs.compiled.get(key);
    if (!program) throw new GpuFailure("KernelError", label, "it was not compiled");
    const group = this.failures.scoped(label, ["validation"], () =>
      this.device.createBindGroup({
        label,
        layout: program.layout,
        entries: bindings.map(([id, offset, size], binding) =>
          ({ binding, resource: { buffer: this.buffer(id), offset, size } })),
      }));
    this.made.bind_groups += 1;
    const [x, y, z] = groups;
    return { pipeline: program.pipeline, group, x, y, z, label };
  }

  /** @param {number} id */
  destroyPlan(id) {
    this.plans.delete(id);
  }

  /** @param {number} id */
  plan(id) {
    const plan = this.plans.get(id);
    if (!plan) throw new GpuFailure("KernelError", `plan ${id}`, "there is none");
    return plan;
  }

  /**
   * Runs plans `steps` times; see `Gpu.replay` in gpu_protocol.py.
   * @param {string} text JSON of a ReplayText
   * @param {Uint8Array<ArrayBuffer>} data
   * @returns {Promise<Uint8Array> | undefined} without a readback `wait` tells the end
   */
  replay(text, data) {
    this.failures.check();
    /** @type {ReplayText} */
    const { plans: ids, feed, steps, readback, parts } = JSON.parse(text);
    const plans = ids.map((id) => this.plan(id));
    const commands = plans.length === 1 ? plans[0].commands
      : plans.flatMap((plan) => plan.commands);
    const staging = readback ? this.staging.take(steps * readback[2]) : null;
    const run = () => {
      for (let step = 0; step < steps; step += 1) {
        if (feed) {
          const [id, offset, size] = feed;
          this.device.queue.writeBuffer(this.buffer(id), offset, data, step * size, size);
        }
        this.step(commands, parts, readback, staging, step);
      }
    };
    const unproven = plans.filter((plan) => !plan.proven);
    if (unproven.length) {
      // The GPU checks dispatches when they are submitted: look once, then trust the plan.
      this.failures.scoped(unproven.map((plan) => plan.label).join(", "), ["validation"], run);
      for (const plan of unproven) plan.proven = true;
    } else {
      run();
    }
    if (!readback || !staging) return undefined;
    const result = this.staging.fetch(staging, steps * readback[2]);
    // Whoever awaits it sees the error; if nobody does, the next wait reports it.
    result.catch(() => undefined);
    return result;
  }

  /**
   * One step in at most `parts` submissions.
   * @param {Command[]} commands
   * @param {number} parts
   * @param {Range | null} readback
   * @param {GPUBuffer | null} staging
   * @param {number} step
   */
  step(commands, parts, readback, staging, step) {
    const count = Math.max(1, Math.min(parts, commands.length));
    for (let part = 0; part < count; part += 1) {
      const encoder = this.device.createCommandEncoder({ label: "replay" });
      this.encode(encoder, commands, Math.floor((commands.length * part) / count),
        Math.floor((commands.length * (part + 1)) / count));
      if (readback && staging && part === count - 1) {
        const [id, offset, size] = readback;
        encoder.copyBufferToBuffer(this.buffer(id), offset, staging, step * size, size);
      }
      this.submit(encoder);
    }
  }

  /**
   * @param {GPUCommandEncoder} encoder
   * @param {Command[]} commands
   * @param {number} start
   * @param {number} stop
   */
  encode(encoder, commands, start, stop) {
    /** @type {GPUComputePassEncoder | null} */
    let pass = null;
    /** @type {GPUComputePipeline | null} */
    let current = null;
    for (let i = start; i < stop; i += 1) {
      const command = commands[i];
      if ("encode" in command) {
        pass?.end();
        pass = current = null;
        command.encode(encoder);
        continue;
      }
      pass ??= encoder.beginComputePass({ label: command.label });
      if (command.pipeline !== current) {
        pass.setPipeline(command.pipeline);
        current = command.pipeline;
      }
      pass.setBindGroup(0, command.group);
      pass.dispatchWorkgroups(command.x, command.y, command.z);
      this.made.dispatches += 1;
    }
    pass?.end();
  }

  /** @param {GPUCommandEncoder} encoder */
  submit(encoder) {
    this.device.queue.submit([encoder.finish()]);
    this.made.submits += 1;
  }

  /**
   * @param {number} id
   * @returns {Promise<string>} JSON list of [label, milliseconds]
   */
  async profile(id) {
    this.failures.check();
    return JSON.stringify(await profilePlan(this, this.plan(id).commands));
  }

  /** Until the queue is empty. */
  async wait() {
    this.failures.check();
    await this.staging.drained();
  }

  /** JSON of what was made since the start, and what is held now. */
  counters() {
    return JSON.stringify(this.made);
  }

  /** Gives the device back. */
  close() {
    this.closed = true;
    this.failures.lost ??= new GpuFailure("DeviceLost", "GPU device", "it was closed");
    this.buffers.clear();
    this.plans.clear();
    this.device.destroy();
  }
}
