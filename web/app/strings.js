/** Every word that the page says. Numbers come in as text, already written by format.js. */

import { chat } from "./strings_chat.js";
import { evaluate } from "./strings_evaluate.js";
import { finetune } from "./strings_finetune.js";
import { models } from "./strings_models.js";

export const text = {
  chat,
  evaluate,
  finetune,
  models,
  title: "tabgrad",
  tagline: "Train a language model in this tab, on your own GPU. Nothing is uploaded.",
  nav: { label: "Places", train: "Train", chat: "Chat", finetune: "Fine-tune",
    generate: "Generate", models: "Models" },
  theme: { dark: "Dark", light: "Light", label: "Switch between light and dark" },
  chip: { waiting: "Device: looking", label: "Open the Device panel", failed: "No device",
    stored: (/** @type {string} */ size) => `${size} stored` },

  intro: {
    heading: "What happens here",
    body:
      "A small GPT starts with random weights and reads your text, thousands of times. Each time " +
      "it guesses the next byte, sees how wrong it was, and moves every weight a little. The " +
      "curve that will appear here is how wrong it is; the samples below it go from noise to " +
      "something like the text.",
    example: "The model. This is a drawing, not a measurement.",
    svgTitle: "The model, from bytes at the bottom to a guess at the top",
    parts: {
      bytes: "bytes of the text", embed: "embedding + position", block: "a block, repeated",
      attention: "attention: look back at earlier bytes", mlp: "MLP: think about each byte",
      guess: "how likely is each next byte?",
    },
  },

  boot: {
    heading: "Getting ready",
    total: "Total",
    failed: "tabgrad could not start.",
    again: "Try again",
    slow: "You can press Train now. It starts as soon as this is ready.",
    stages: /** @type {Record<string, string>} */ ({
      python: "Python", packages: "NumPy and packages", tabgrad: "tabgrad", gpu: "Your GPU",
      "self-test": "Self-test on your GPU", corpus: "Fetching the text",
      tuning: "Choosing the fastest kernels", kernels: "Compiling kernels",
      weights: "Weights to your GPU", vocabulary: "Learning a vocabulary",
      reading: "Reading the text",
    }),
  },

  corpus: {
    heading: "Text", paste: "Paste a text", pasteLabel: "Your text", pasteName: "pasted text",
    use: "Use this text", choose: "Choose a file",
    drop: "Or drop a file anywhere on this page.",
    local: "Stored only in this browser.",
    summary: (/** @type {string} */ size, /** @type {string} */ language) =>
      `What was found: ${size}, ${language}`,
    bytes: "Bytes", characters: "Characters", language: "Looks like",
    preview: "Begins", waiting: "The texts appear here in a moment.", reading: "Reading the text.",
    dropHere: "Drop a text to train on, a model's folder, or the .zip of a run",
  },

  settings: {
    heading: "Model", all: "All settings", reset: "Reset", resetAll: "Reset all settings",
    usual: (/** @type {string} */ value) => `Usual: ${value}.`,
    parameters: (/** @type {string} */ count, /** @type {string} */ summary) =>
      `${count} parameters: ${summary}.`,
    option: (/** @type {string} */ name, /** @type {string} */ count) => `${name} (${count})`,
    waiting: "Presets appear here in a moment.",
    differs: "These settings belong to the next run. The run in the picture keeps its own.",
    choices: /** @type {Record<string, Record<string, string>>} */ ({
      lr_scheduler_type: { cosine: "cosine", linear: "linear", constant: "constant",
        warmup_stable_decay: "level, then down" },
      optim: { adamw: "AdamW", sgd: "SGD with momentum", lion: "Lion", muon: "Muon" },
      nesterov: { true: "on", false: "off" },
      gradient_checkpointing: { true: "on", false: "off" },
      activation_dtype: { float32: "float32", bfloat16: "bfloat16", float16: "float16" },
    }),
    names: /** @type {Record<string, [string, string]>} */ ({
      preset: ["Preset", "How large the model is. Larger learns more and takes longer a step."],
      max_steps: ["Steps", "How many times the weights move. More steps, lower loss, more time."],
      per_device_train_batch_size: ["Batch",
        "Passages read at once. More gives a steadier step and needs more memory and time."],
      context_length: ["Context",
        "How much the model sees at once. Longer remembers more and costs more."],
      gradient_accumulation_steps: ["Gradient accumulation",
        "Batches added up before each step: the effect of a larger batch without its memory."],
      learning_rate: ["Learning rate",
        "How far each step moves the weights. Too high and the loss jumps, too low and it crawls."],
      lr_scheduler_type: ["Schedule",
        "How the learning rate goes down after the warm-up. Cosine is gentle at both ends."],
      optim: ["Optimiser", "The rule that moves the weights. AdamW is the safe one; Lion and SGD "
        + "need other learning rates, Muon learns more in a step that takes longer."],
      momentum: ["Momentum",
        "How long past directions are remembered. Higher is smoother and slower to turn."],
      nesterov: ["Nesterov", "Looks ahead along that direction, which turns a little sooner."],
      warmup_steps: ["Warm-up steps",
        "Steps over which the learning rate rises from zero. Too few and the start is rough."],
      weight_decay: ["Weight decay",
        "Pulls weights towards zero at each step. More resists memorising."],
      max_grad_norm: ["Gradient clip",
        "Longest gradient that a step may follow. Lower tames jumps; 0 turns clipping off."],
      adam_beta1: ["Adam beta 1", "How long the direction of past steps is remembered."],
      adam_beta2: ["Adam beta 2", "How long the size of past gradients is remembered."],
      adam_epsilon: ["Adam epsilon", "Keeps steps finite where gradients are nearly zero."],
      gradient_checkpointing: finetune.settings.names.gradient_checkpointing,
      activation_dtype: finetune.settings.names.activation_dtype,
      eval_steps: ["Validate every",
        "Steps between looks at text that is never trained on. Often is slower; 0 never looks."],
      sample_steps: ["Sample every", "Steps between samples of the model's writing."],
      save_steps: ["Save every", "Steps between checkpoints: the most you can lose."],
      logging_steps: ["Report every", "Steps between points of the curve."],
      seed: ["Seed", "Same seed, same text, same device: the same run, number for number."],
    }),
    units: /** @type {Record<string, string>} */ ({
      max_steps: "steps", per_device_train_batch_size: "passages",
      warmup_steps: "steps", eval_steps: "steps", save_steps: "steps", sample_steps: "steps",
      logging_steps: "steps", gradient_accumulation_steps: "batches",
    }),
    invalid: (/** @type {string} */ label, /** @type {string} */ range) =>
      `${label} needs ${range}.`,
    between: (/** @type {string} */ kind, /** @type {string} */ min, /** @type {string} */ max) =>
      `${kind} from ${min} to ${max}`,
    atLeast: (/** @type {string} */ kind, /** @type {string} */ min) =>
      `${kind} of at least ${min}`,
    whole: "a whole number", any: "a number",
  },

  estimate: {
    heading: "What it costs", memory: "Memory", step: "A step", total: "The whole run",
    perStep: "Tokens a step", unknown: "known after the first steps",
    about: (/** @type {string} */ time) => `about ${time}`,
    aStep: (/** @type {string} */ time) => `${time} a step`,
    timeUnknown: "time known after the first steps",
    parts: "Where the memory goes",
    memoryNames: /** @type {Record<string, string>} */ ({
      weights: "weights", gradients: "gradients", moments: "optimiser moments",
      optimizer: "optimiser moments", activations: "activations", temporaries: "working space",
      scratch: "working space", slots: "working space", logits: "logits", buffers: "buffers",
      batches: "batches",
    }),
  },

  actions: {
    train: "Train", pause: "Pause", resume: "Resume", step: "Step", stop: "Stop",
    queued: "Starts when ready", starting: "Starting", pausing: "Pausing", resuming: "Resuming",
    stepping: "Stepping", stopping: "Stopping", failed: "Train again",
    stepHint: "Pause first, then take one step at a time.",
    label: "Training",
  },

  chart: {
    heading: "Loss", unit: (/** @type {string} */ one) => `nats per ${one}`,
    ofBytes: { many: "bytes", one: "byte" }, ofWords: { many: "words", one: "word" },
    ofTokens: { many: "tokens", one: "token" },
    step: "step", train: "train", validation: "validation",
    label:
      "Loss by step. Left and right arrow keys read the points, Home and End go to the ends.",
    baseline: (/** @type {string} */ value, /** @type {string} */ size,
      /** @type {string} */ many) => `${value}: guessing among ${size} ${many}`,
    table: "Table", hideTable: "Chart", png: "PNG", csv: "CSV", closeUp: "Close up",
    wholeScale: "Whole scale",
    hint: "Point at the curve, or focus it and use the arrow keys, to read it.",
    readout: (/** @type {string} */ step, /** @type {string} */ train,
      /** @type {string} */ validation) =>
      `step ${step}: train ${train}, validation ${validation}`,
    columns: ["Step", "Train", "Validation", "Learning rate", "Gradient norm"],
    tableNote: (/** @type {string} */ shown, /** @type {string} */ total) =>
      `${shown} of ${total} points; the CSV file has all.`,
  },

  facts: {
    heading: "Now", step: "Step", of: (/** @type {string} */ step, /** @type {string} */ all) =>
      `${step} of ${all}`,
    train: "Train loss", validation: "Validation loss", bits: "Bits a byte",
    tokens: "Tokens a second", stepTime: "A step", left: "Left", python: "Python's share",
    saved: "Last checkpoint",
    savedAt: (/** @type {string} */ step) => `step ${step}`,
    words: (/** @type {string} */ loss, /** @type {string} */ among,
      /** @type {string} */ many) =>
      `${loss}: as unsure as choosing among ${among} equally likely ${many}.`,
    states: /** @type {Record<string, string>} */ ({
      idle: "Stopped", running: "Training", paused: "Paused", stopping: "Stopping",
      failed: "Stopped by a problem",
    }),
    finished: "Finished",
    parted: (/** @type {string} */ step, /** @type {string} */ best, /** @type {string} */ now) =>
      `Since step ${step} validation has risen from ${best} to ${now} while training still ` +
      "falls: the model is beginning to memorise this text. The best checkpoint is kept.",
    best: (/** @type {string} */ step, /** @type {string} */ best) =>
      `Validation is best so far at step ${step}: ${best}.`,
    live: (/** @type {string} */ step, /** @type {string} */ all, /** @type {string} */ loss) =>
      `Step ${step} of ${all}, loss ${loss}.`,
    title: (/** @type {string} */ step, /** @type {string} */ loss) =>
      `${step} \u00b7 ${loss} \u00b7 tabgrad`,
  },

  samples: {
    heading: "Samples", waiting: "The first sample comes in a moment.",
    at: (/** @type {string} */ step) => `step ${step}`,
    older: (/** @type {string} */ count) => `${count} earlier samples`,
  },

  runs: {
    heading: "Runs", none: "Runs that you train are listed here.",
    local: "Stored only in this browser.",
    import: "Import a run (.zip)", open: "Look", resume: "Resume", export: "Export",
    delete: "Delete", exporting: "Packing",
    line: (/** @type {string} */ preset, /** @type {string} */ step, /** @type {string} */ all) =>
      `${preset} \u00b7 step ${step} of ${all}`,
    confirm: (/** @type {string} */ name, /** @type {string} */ size) =>
      `Delete ${name} and all its checkpoints (${size})? This cannot be undone.`,
    confirmYes: (/** @type {string} */ name) => `Delete ${name}`, confirmNo: "Keep it",
    actionsOf: (/** @type {string} */ action, /** @type {string} */ name) => `${action} ${name}`,
    imported: (/** @type {string} */ name) => `The run ${name} was imported.`,
    complete: "finished",
  },

  comeBack: {
    before: "Your run ",
    after: (/** @type {string} */ step, /** @type {string} */ when) =>
      ` stopped at step ${step}, ${when}.`,
    resume: "Resume", look: "Look", delete: "Delete",
  },

  generate: {
    heading: "Generate", run: "Run", prompt: "Prompt", start: "Generate", stop: "Stop",
    temperature: "Temperature", topK: "Top-k", maxNewTokens: "New tokens", seed: "Seed",
    hints: {
      temperature: "0 always takes the likeliest byte; 1 follows the model; higher is wilder.",
      topK: "Choose only among the k likeliest bytes; 0 is all 256.",
      maxNewTokens: "How much to write. A token is one byte.", seed: "Same seed, same text.",
    },
    output: "Output", none: "There is no run yet. Train one first, even for a minute.",
    goTrain: "Go to Train", waiting: "Runs appear here in a moment.",
    placeholder: "What the model writes appears here.",
    speed: (/** @type {string} */ n, /** @type {string} */ time, /** @type {string} */ rate) =>
      `${n} tokens in ${time}, ${rate} tokens a second`,
    stoppedSpeed: "stopped", writing: "Writing", option: (/** @type {string} */ name,
      /** @type {string} */ step, /** @type {string} */ loss) =>
      `${name} \u00b7 step ${step} \u00b7 loss ${loss}`,
    current: (/** @type {string} */ name) => `${name} \u00b7 in training now`,
  },

  device: {
    heading: "Device", adapter: "Adapter", name: "Name", vendor: "Vendor",
    architecture: "Architecture", runtime: "Runs on", precision: "Precision",
    features: "Features", none: "none", unnamed: "not named by the browser",
    runtimes: /** @type {Record<string, string>} */ ({
      webgpu: "WebGPU", browser: "WebGPU", numpy: "CPU (NumPy)", cpu: "CPU (NumPy)" }),
    limits: "Limits that matter",
    limitNames: /** @type {Record<string, [string, "bytes" | "number"]>} */ ({
      maxBufferSize: ["Largest buffer", "bytes"],
      maxStorageBufferBindingSize: ["Largest tensor a kernel can see at once", "bytes"],
      maxStorageBuffersPerShaderStage: ["Tensors a kernel can see at once", "number"],
      maxComputeInvocationsPerWorkgroup: ["Threads that can share memory", "number"],
      maxComputeWorkgroupStorageSize: ["Memory that they share", "bytes"],
      maxComputeWorkgroupsPerDimension: ["Workgroups in one direction", "number"],
    }),
    storage: "Storage", used: "Used", quota: "Allowed by the browser", kept: "Kept",
    keptYes: "until you delete it", keptNo: "unless the disk runs short",
    quotaUnknown: "not told by the browser",
    local: "Everything is stored only in this browser. Clearing its site data erases it.",
    benchmark: "Matrix multiplication", measure: "Measure", measuring: "Measuring",
    benchmarkHint: "Multiplies two 512 \u00d7 512 matrices with each kernel and with NumPy.",
    columns: ["What", "Size", "Time", "GFLOP/s", "Error"],
    profile: "Where a step's time goes", profileButton: "Profile a step",
    profileHint: "Times every kernel of the run in the picture.", profiling: "Profiling",
    share: "Share", noProfile: "No kernel was timed. Start a run first.",
    refresh: "Refresh", waiting: "known when the worker is ready",
    cpuBadge: (/** @type {string} */ times) => `CPU, at least ${times} times slower`,
  },

  noGpu: {
    lead: "This page has no WebGPU, so the model runs on the CPU.",
    chromium: (/** @type {string} */ name, /** @type {string} */ version) =>
      `${name} ${version} has WebGPU: turn on hardware acceleration in Settings, System, ` +
      "or the flag chrome://flags/#enable-unsafe-webgpu, and restart the browser.",
    firefox: (/** @type {string} */ version) =>
      `Firefox ${version} has WebGPU behind a switch: in about:config set dom.webgpu.enabled and ` +
      "dom.webgpu.workers.enabled to true, and restart the browser.",
    safari: (/** @type {string} */ version) =>
      `Safari ${version}: WebGPU is on from version 26. In earlier ones it is in Settings, ` +
      "Feature Flags, WebGPU.",
    other: "A recent Chrome, Edge, Firefox or Safari 26 has it.",
    tiny: "The smallest preset is chosen for you.",
  },

  notices: {
    dismiss: "Dismiss",
    hidden: (/** @type {string} */ steps) => `Trained ${steps} steps while this tab was hidden.`,
    region: "Notices",
    codes: /** @type {Record<string, string>} */ ({}),
  },

  problems: {
    crashed: "The part of the page that trains has stopped. Everything up to the last " +
      "checkpoint is safe.",
    restart: "Restart from the last checkpoint", restartEmpty: "Restart",
    restarted: "The worker was restarted before it could answer.",
    noWorker: "The worker could not start.",
    unreadable: "A message from the worker could not be read.",
    protocol: "The page and its worker do not understand each other. Reload the page to get the " +
      "same version of both.",
    expected: (/** @type {string} */ value) => `Expected: ${value}.`,
    received: (/** @type {string} */ value) => `Received: ${value}.`,
    detail: "Details", dismiss: "Dismiss", reload: "Reload", seeStorage: "See what takes space",
    notARun: "This .zip could not be read as a run.",
    unreadableFile: (/** @type {string} */ name) => `${name} could not be read.`,
    unforeseen: "Something in the page went wrong that was not foreseen.",
    notOffline: "The page could not be kept for visits without a network. All else works.",
    noProtocol: "The page could not be loaded completely. Check the connection and reload.",
  },
};
