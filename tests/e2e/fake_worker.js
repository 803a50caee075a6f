// A test double of web/worker.js: it speaks protocol.json and replays plausible messages, with no
// Python and no GPU, so that the page's layout and manners are tested in seconds. Served in the
// real worker's place by test_page_layout.py; never part of the built site. What it says of models,
// of fine-tuning and of measuring is in fake_models.js, fake_finetune.js and fake_evaluate.js,
// which stand in front of it.
//
// The server may put `globalThis.SCENARIO = {...};` in front of this file:
//   step_ms            how long a step takes       fallback   the reason why there is no GPU
//   hold_boot          waits in the start until a test calls goOn() in the worker
//   runs               how many runs exist         fail       {command: Problem} answers
//   overfit            validation rises again      crash_at   step at which the worker throws

const scenario = { step_ms: 5, runs: 0, fail: {}, ...globalThis.SCENARIO };

const LONG_AGO = 1_750_000_000;
const corpus = {
  sha256: "ab".repeat(32), name: "Shakespeare", bytes: 5_436_475, characters: 5_436_475,
  preview: "KING. What say you to the morning?\nALL. We say good morrow.", language: "English",
  builtin: true,
};
const short = {
  sha256: "cd".repeat(32), name: "A lighthouse", bytes: 4_812, characters: 4_790,
  preview: "The lamp was lit at dusk, as it had been lit every day.", language: "English",
  builtin: true,
};
const defaults = {
  preset: "byte-tinygpt", context_length: 128, per_device_train_batch_size: 8,
  gradient_accumulation_steps: 1, max_steps: 3000, learning_rate: 0.001, warmup_steps: 100,
  lr_scheduler_type: "cosine", weight_decay: 0.1, adam_beta1: 0.9, adam_beta2: 0.95,
  adam_epsilon: 1e-8, max_grad_norm: 1, optim: "adamw", momentum: 0.95, nesterov: true, seed: 0,
  gradient_checkpointing: false, activation_dtype: "float32",
  eval_steps: 50, save_steps: 200, sample_steps: 100, logging_steps: 1,
};
const presets = [
  { name: "byte-tinygpt", summary: "4 blocks, width 128, 4 heads", parameters: 842_496,
    num_hidden_layers: 4, hidden_size: 128, num_attention_heads: 4, context_length: 128,
    settings: defaults },
  { name: "tiny", summary: "2 blocks, width 64, 2 heads", parameters: 120_576,
    num_hidden_layers: 2, hidden_size: 64, num_attention_heads: 2, context_length: 64,
    settings: { ...defaults, preset: "tiny", context_length: 64, learning_rate: 0.003 } },
];
const device = {
  runtime: scenario.fallback ? "numpy" : "webgpu", name: "SwiftShader", vendor: "google",
  architecture: "swiftshader", precision: "f32", features: ["timestamp-query", "subgroups"],
  limits: {
    maxBufferSize: 1_073_741_824, maxStorageBufferBindingSize: 1_073_741_824,
    maxStorageBuffersPerShaderStage: 10, maxComputeInvocationsPerWorkgroup: 256,
    maxComputeWorkgroupStorageSize: 32_768, maxComputeWorkgroupsPerDimension: 65_535,
  },
  fallback: scenario.fallback ?? null,
};

/** What is known of the fine-tunes: name -> {base, settings}. */
const tuned = new Map();

/** @param {string} name @param {number} step */
function makeRun(name, step, settings = defaults) {
  const tune = tuned.get(name);
  if (tune) return { ...makeTune(name, step, tune), corpus };
  return {
    run: name, preset: settings.preset, parameters: 842_496, step, max_steps: settings.max_steps,
    loss: lossAt(step), validation_loss: validationAt(step), saved_at: LONG_AGO + step,
    bytes: 10_113_024, corpus, settings, complete: step >= settings.max_steps,
  };
}

let runs = ["quiet-otter", "amber-finch", "slow-willow"].slice(0, scenario.runs)
  .map((name, i) => makeRun(name, [1240, 3000, 200][i]));
for (const [i, name] of ["warm-lantern", "old-beacon"].slice(0, scenario.tuned ?? 0).entries()) {
  tuned.set(name, { base: "smollm2", settings: TUNE });
  runs.push(makeRun(name, [40, 60][i]));
}
let live = null;
let timer = 0;
let aborted = false;

function lossAt(step) {
  const noise = Math.sin(step * 12.9898) * 0.12 + Math.sin(step * 0.7) * 0.05;
  return 1.55 + 4 * Math.exp(-step / 180) + noise * Math.min(1, step / 60);
}
function validationAt(step) {
  const rise = scenario.overfit ? Math.max(0, step - 800) * 0.0004 : 0;
  return 1.72 + 3.85 * Math.exp(-step / 190) + rise;
}
function sampleAt(step) {
  if (step < 150) return "x\u00e9Tq ;k0 w\u0003vJ lz.. aQe\nrn tth  o e";
  if (step < 500) return "And the wo the pore tho sher\nmand he to thes wourd ant";
  return "KING. What say you to the morning,\nThat hath the heart of all my fortune here?";
}

const say = (name, fields) => postMessage({ name, ...fields });
const sayState = () => say("state", { run: live?.run ?? null, state: live?.state ?? "idle",
  step: live?.step ?? 0, problem: null });

function advance() {
  live.step += 1;
  const { run, step } = live;
  if (scenario.crash_at === step) throw new Error("a fault on purpose");
  const { max_steps, eval_steps, sample_steps, save_steps } = live.settings;
  say("progress", {
    run, step, max_steps, tokens_per_second: 4120, step_ms: 62, python_ms: 1.9,
    seconds_left: (max_steps - step) * 0.062,
    points: [{ step, loss: lossAt(step), learning_rate: 0.001, grad_norm: 0.8 }],
  });
  if (step % eval_steps === 0) {
    say("validation", { run, point: { step, loss: validationAt(step) } });
  }
  tuneEvents(say, live);
  if (sample_steps && step % sample_steps === 0) say("sample", { run, sample: { step, text: sampleAt(step) } });
  if (step % save_steps === 0) say("checkpoint", { run, step, bytes: 10_113_024, best: true });
  if (step >= max_steps) finish();
}

function loop() {
  clearTimeout(timer);
  if (!live || live.state !== "running") return;
  const until = scenario.step_ms === 0 ? performance.now() + 8 : 0;
  do advance(); while (live.state === "running" && performance.now() < until);
  timer = setTimeout(loop, scenario.step_ms);
}

function keep() {
  runs = [makeRun(live.run, live.step, live.settings), ...runs.filter((r) => r.run !== live.run)];
}

function finish() {
  live.state = "idle";
  keep();
  say("done", { run: live.run, step: live.step, loss: lossAt(live.step),
    validation_loss: validationAt(live.step) });
  sayState();
}

function begin(run, settings, step, state = "running") {
  live = { run, settings, step, state, tuned: tuned.get(run)?.settings ?? null };
  keep();
  sayState();
  if (live.tuned && step === 0) {
    say("validation", { run, point: { step: 0, loss: validationAt(0) } });
    tuneEvents(say, live);
  }
  loop();
}

function historyUpTo(step, tune) {
  const points = [];
  const validation = [];
  const samples = [];
  for (let i = 1; i <= step; i += 1) {
    points.push({ step: i, loss: lossAt(i), learning_rate: 0.001, grad_norm: 0.8 });
    if (i % 50 === 0) validation.push({ step: i, loss: validationAt(i) });
    if (i % 100 === 0) samples.push({ step: i, text: sampleAt(i) });
  }
  if (!tune) return { points, validation, samples };
  const answers = [0, 10, 20, 30, 40, 50, 60].filter((at) => at <= step)
    .map((at) => answersAt(at, tune.settings.prompts));
  return { points, answers, samples: [],
    validation: answers.map((at) => ({ step: at.step, loss: validationAt(at.step) })) };
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const setState = (state) => () => {
  live.state = state;
  if (state === "idle") keep();
  sayState();
  loop();
  return { state, step: live.step };
};

const COMMANDS = {
  async boot() {
    const stages = [["python", 12_400_000, "bytes"], ["packages", 3_100_000, "bytes"],
      ["tabgrad", 1, "packages"], ["gpu", 1, "device"], ["self-test", 40, "kernels"]];
    for (const [name, total, unit] of stages) {
      for (let i = 0; i <= 8; i += 1) {
        say("stage", { stage: name, done: Math.floor((total * i) / 8), total, unit });
        if (scenario.hold_boot && name === "python" && i === 4) {
          await new Promise((goOn) => { globalThis.goOn = goOn; });
        }
      }
    }
    const usual = scenario.fallback ? presets[1].settings : defaults;
    return { device, presets, corpora: [corpus, short], runs, defaults: usual };
  },
  add_corpus({ title, text }) {
    const words = new TextDecoder().decode(text);
    return { corpus: { sha256: "ef".repeat(32), name: title, bytes: text.length, builtin: false,
      characters: [...words].length, preview: words.slice(0, 200), language: "English" } };
  },
  estimate({ settings }) {
    const step_ms = settings.preset === "tiny" ? 11 : 62;
    return { parameters: 842_496, total_bytes: 48_234_496, step_ms, tokens_per_step: 512,
      memory: { weights: 3_369_984, gradients: 3_369_984, optimizer: 6_739_968,
        activations: 34_754_560 },
      total_seconds: (settings.max_steps * step_ms) / 1000 };
  },
  train({ settings, run }) {
    const name = run ?? `brave-heron${runs.length ? `-${runs.length}` : ""}`;
    begin(name, settings, 0);
    return { run: makeRun(name, 0, settings) };
  },
  pause: setState("paused"),
  resume: setState("running"),
  stop: setState("idle"),
  step() {
    advance();
    return { state: live.state, step: live.step };
  },
  save: () => ({ step: live?.step ?? 0 }),
  restore({ run, train }) {
    const known = runs.find((r) => r.run === run);
    const tune = tuned.get(run);
    setTimeout(() => train && begin(run, tune?.settings ?? known.settings, known.step));
    return { run: known, history: historyUpTo(known.step, tune) };
  },
  runs: () => ({ runs }),
  delete({ run }) {
    runs = runs.filter((r) => r.run !== run);
    return { runs };
  },
  export: ({ run }) => ({ name: `${run}.zip`, zip: new Uint8Array([80, 75, 5, 6]) }),
  import() {
    runs = [makeRun("far-lantern", 900), ...runs];
    return { run: runs[0] };
  },
  async generate({ max_new_tokens }, id) {
    const words = "ROMEO. \u{1F319} What light is this that makes the morning so unsure? ".repeat(
      Math.ceil(max_new_tokens / 60)).slice(0, max_new_tokens);
    aborted = false;
    let text = "";
    for (let i = 0; i < words.length && !aborted; i += 8) {
      say("token", { id, text: words.slice(i, i + 8) });
      text += words.slice(i, i + 8);
      await wait(scenario.step_ms);
    }
    return { text, tokens: text.length, milliseconds: text.length * 12, stopped: aborted };
  },
  abort() {
    aborted = true;
    return {};
  },
  benchmark: ({ size }) => ({ rows: [
    ["blocks of 8 x 8", 46, 5.8, 3.1e-7], ["one thread an output", 1032, 0.26, 2.9e-7],
    ["NumPy", 210, 1.28, 2.2e-7],
  ].map(([name, milliseconds, gflops, error]) => ({
    name, size: `${size} x ${size} x ${size}`, milliseconds, gflops, error,
  })) }),
  profile: () => ({ rows: [{ name: "matmul_nt (512, 128, 512)", milliseconds: 9.1 },
    { name: "attention_forward", milliseconds: 4.2 }, { name: "adamw", milliseconds: 0.8 }] }),
  storage: () => ({ used: 31_400_000, quota: 21_000_000_000, persistent: false, runs }),
};

Object.assign(COMMANDS, modelCommands({
  say, wait, scenario, isAborted: () => aborted, setAborted: (yes) => { aborted = yes; },
}));

Object.assign(COMMANDS, tuneCommands({ scenario, begin, makeRun, tuned }));

Object.assign(COMMANDS, judgeCommands({
  say, wait, scenario, isAborted: () => aborted, setAborted: (yes) => { aborted = yes; },
}));

addEventListener("message", async ({ data: { name, id, ...fields } }) => {
  const problem = scenario.fail[name];
  if (problem) return say("failure", { id, problem });
  try {
    say("reply", { id, result: await COMMANDS[name](fields, id) });
  } catch (thrown) {
    if (typeof thrown?.code !== "string") throw thrown;
    return say("failure", { id, problem: thrown });
  }
  if (name === "boot" && scenario.notice) say("notice", scenario.notice);
});
