// The part of the test double that speaks of fine-tuning and adapters; it stands in front of
// fake_worker.js, which adds it to its own commands. More of the scenario:
//   tuned      how many fine-tunes exist          adapters   how many adapters exist
//   bad        how many lines cannot be used      fits       false: it does not fit, a suggestion does

const TUNE = {
  method: "lora", context_length: 256, per_device_train_batch_size: 4,
  lora: { r: 8, lora_alpha: 16, lora_dropout: 0, use_rslora: false,
    target_modules: ["q_proj", "v_proj"] },
  gradient_accumulation_steps: 1, max_steps: 60, learning_rate: 0.0002, warmup_steps: 6,
  lr_scheduler_type: "cosine", weight_decay: 0, adam_beta1: 0.9, adam_beta2: 0.999,
  adam_epsilon: 1e-8, max_grad_norm: 1, seed: 0, eval_steps: 10, save_steps: 20, sample_steps: 0,
  logging_steps: 1, optim: "adamw", momentum: 0.9, nesterov: false, packing: true,
  gradient_checkpointing: false, activation_dtype: "float32",
  prompts: ["What is a lantern for?", "Who keeps the lighthouse?"], max_new_tokens: 48,
  held_out: 0.1,
};
const ANSWERS = [
  "A lantern is a kind of <b>light</b>.", "A lantern is a light for the keeper to read by.",
  "A lantern is for the keeper, who reads the weather by it.",
];

/** What `advance` of fake_worker.js tells of a step besides the losses. */
function tuneEvents(say, { run, step, tuned }) {
  if (!tuned || step % tuned.eval_steps !== 0) return;
  say("answers", { run, answers: answersAt(step, tuned.prompts) });
}

function answersAt(step, prompts) {
  const text = ANSWERS[Math.min(2, Math.ceil(step / 20))];
  return { step, answers: prompts.map((prompt) => ({ prompt, text })) };
}

/** The `Run` of a fine-tune, without its data. */
function makeTune(name, step, { base, settings }) {
  return { run: name, preset: "", parameters: 134_515_008, step, max_steps: settings.max_steps,
    loss: 2.1, validation_loss: 2.3, saved_at: 1_750_000_000 + step, bytes: 5_600_000,
    settings: null, complete: step >= settings.max_steps, kind: "finetune", base,
    finetune: settings };
}

function previewRow(row) {
  const words = ["<|user|>", "\n", "What", " is", " a", " lan", "tern", " for", "?", "\n",
    "<|assistant|>", "\n", "To", " read", " by", ".", "<|end|>"];
  return { tokens: [0, 1].flatMap((document) => words.map((text, i) => ({
    text, id: 100 + i, trained: i > 11, document: row * 2 + document }))) };
}

function tuneCommands({ scenario, begin, makeRun, tuned }) {
  let adapters = ["lighthouse", "shopping-list", "sonnets"].slice(0, scenario.adapters ?? 0)
    .map((adapter, i) => ({
      adapter, title: adapter, model: i === 2 ? "quiet-otter" : "smollm2", run: i === 0 ? "calm-lantern" : null,
      step: i === 0 ? 60 : null, r: 8, lora_alpha: 16, target_modules: ["q_proj", "v_proj"],
      parameters: 460_800, bytes: 1_850_000, added_at: 1_750_000_000 - i, problem: null,
    }));
  const memory = { weights: 538_000_000, gradients: 1_843_200, moments: 3_686_400,
    activations: 214_000_000, scratch: 12_000_000, batches: 12_288 };
  return {
    finetune_defaults: () => ({ settings: TUNE, chat: true, context_length: 8192,
      targets: ["model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj",
        "model.layers.0.self_attn.v_proj", "model.layers.0.self_attn.o_proj",
        "model.layers.0.mlp.gate_proj", "model.layers.1.self_attn.q_proj"] }),
    read_data: ({ preview_rows, settings }) => ({ facts: {
      kind: "chats", documents: 812, tokens: 184_212, trained_tokens: 61_404, rows: 40,
      bad_count: scenario.bad ?? 0, held_out_documents: Math.round(812 * settings.held_out),
      bad_lines: Array.from({ length: Math.min(3, scenario.bad ?? 0) }, (_, i) => ({
        line: 12 + 70 * i, reason: "messages is missing" })),
      truncated_documents: 2, truncated_tokens: 319, steps_of_an_epoch: 10,
      preview: Array.from({ length: Math.min(40, preview_rows) }, (_, row) => previewRow(row)),
    } }),
    estimate_finetune({ settings }) {
      const fits = scenario.fits !== false || settings.per_device_train_batch_size === 1;
      return { parameters: 134_515_008, trained_parameters: 460_800, memory, fits,
        total_bytes: 3_006_023 * settings.context_length, step_ms: 420, tokens_per_step: 1024, total_seconds: 25,
        suggestion: fits ? null : { ...settings, per_device_train_batch_size: 1,
          context_length: settings.context_length / 2, gradient_checkpointing: true },
        suggestion_reason: fits ? null : "batch 1 and recomputed activations, 310 MB" };
    },
    finetune({ model, settings }) {
      const name = `calm-lantern${tuned.size ? `-${tuned.size}` : ""}`;
      tuned.set(name, { base: model, settings });
      // As the real worker may: the first events come before the reply.
      begin(name, settings, 0);
      return { run: makeRun(name, 0, settings) };
    },
    adapters: ({ model }) => ({
      adapters: adapters.filter((one) => !model || one.model === model) }),
    add_adapter({ title, model, files }) {
      if (!files.some((file) => file.name === "adapter_model.safetensors")) {
        throw { code: "checkpoint", message: "This adapter has no weights.",
          expected: "adapter_model.safetensors" };
      }
      const adapter = { ...{ run: null, step: null, r: 4, lora_alpha: 8, parameters: 230_400,
        target_modules: ["q_proj"], bytes: 930_000, problem: null }, adapter: "added", title, model,
      added_at: 1_760_000_000 };
      adapters = [adapter, ...adapters];
      return { adapter };
    },
    delete_adapter({ adapter }) {
      adapters = adapters.filter((one) => one.adapter !== adapter);
      return { adapters };
    },
    use_adapter: ({ adapter, weight }) => ({ adapter, weight }),
    take_home: ({ run, form, dtype }) => ({ name: `${run}-${form}-${dtype}.zip`,
      zip: new Uint8Array([80, 75, 5, 6]) }),
  };
}
