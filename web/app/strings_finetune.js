/** The words of the Fine-tune place, and of adapters wherever they stand. */

export const finetune = {
  heading: "Teach a model your text, in this tab. The text stays here.",
  tokens: { many: "tokens", one: "token" },
  methods: /** @type {Record<string, string>} */ ({
    lora: "LoRA", full: "all weights" }),
  elsewhere: (/** @type {string} */ name) =>
    `The fine-tune ${name} has the GPU. Pause it or stop it under Fine-tune first.`,
  trainsElsewhere: (/** @type {string} */ name) =>
    `The run ${name} has the GPU. Pause it or stop it under Train first.`,
  baseline: (/** @type {string} */ value) => `${value}: before`,

  base: {
    heading: "Model", label: "Start from", toModels: "Models", models: "Models",
    runs: "Your runs", waiting: "Models appear here in a moment.",
    none: "No model is here yet. Get one under Models, or train one.",
    looking: "Looking at the model.",
    option: (/** @type {string} */ title, /** @type {string} */ size) => `${title} \u00b7 ${size}`,
    facts: (/** @type {string} */ kind, /** @type {string} */ longest) =>
      `${kind}, reads at most ${longest} tokens.`,
    chats: "It chats: conversations are learned with its own template",
    goesOn: "It goes on from a text",
  },

  data: {
    heading: "Data",
    drop: "Or drop a file anywhere in this place: a text, or JSON lines of texts or conversations.",
    nothing: "Choose what the model should learn first.",
    reading: "Reading the data as the model would.",
    kinds: /** @type {Record<string, string>} */ ({
      text: "one text", texts: "texts, one a line (JSONL)",
      chats: "conversations, one a line (JSONL)" }),
    kind: "Found", documents: "Documents", tokens: "Tokens", trained: "Tokens learned",
    part: (/** @type {string} */ n, /** @type {string} */ percent) => `${n} (${percent} %)`,
    rows: "Rows", heldOut: "Held out to validate", epoch: "Steps of one pass",
    cut: "Too long, cut",
    cutValue: (/** @type {string} */ documents, /** @type {string} */ tokens) =>
      `${documents} documents, ${tokens} tokens lost`,
    bad: (/** @type {string} */ count) =>
      count === "1" ? "1 line cannot be used:" : `${count} lines cannot be used:`,
    line: (/** @type {string} */ line, /** @type {string} */ reason) => `line ${line}: ${reason}`,
    more: (/** @type {string} */ count) => `and ${count} more`,
    skip: (/** @type {string} */ count) =>
      count === "1" ? "Leave this line out" : `Leave these ${count} lines out`,
    mend: "Mend the lines and choose the file again, or leave them out.",
  },

  settings: {
    heading: "How it learns", none: "Settings appear here when a model is chosen.",
    differs: "These settings belong to the next fine-tune. The one in the picture keeps its own.",
    on: "on", off: "off", choose: "Choose at least one part of the model.",
    choices: /** @type {Record<string, Record<string, string>>} */ ({
      method: { lora: "LoRA adapter", full: "all weights" },
      lr_scheduler_type: { warmup_stable_decay: "stable, then down" },
      optim: { adamw: "AdamW", sgd: "SGD with momentum", lion: "Lion", muon: "Muon" },
    }),
    names: /** @type {Record<string, [string, string]>} */ ({
      method: ["Method", "An adapter is small and can be switched off. Training all weights " +
        "changes more, and needs about four times the memory of the weights."],
      "lora.r": ["Rank", "How much an adapter can hold. Higher learns more, and forgets sooner."],
      max_steps: ["Steps", "How many times the weights move. Too many and it learns by heart."],
      learning_rate: ["Learning rate",
        "How far each step moves the weights. Too high and it forgets what it knew."],
      "lora.lora_alpha": ["LoRA alpha",
        "How loud the adapter speaks: alpha over rank. Doubling it acts like a higher rate."],
      "lora.lora_dropout": ["LoRA dropout",
        "Share of the adapter's input left out at random. More resists learning by heart."],
      "lora.use_rslora": ["Rank-stabilised scale",
        "Divides by the root of the rank, so that high ranks learn as fast as low ones."],
      "lora.target_modules": ["Adapted parts",
        "Where the adapter acts. More parts learn more and take more memory."],
      context_length: ["Context",
        "Tokens of one row. Longer keeps long documents whole; memory and time grow with it."],
      per_device_train_batch_size: ["Batch",
        "Rows read at once. More gives a steadier step and needs more memory."],
      gradient_accumulation_steps: ["Gradient accumulation",
        "Batches added up before a step: the effect of a larger batch without its memory."],
      packing: ["Pack documents",
        "Several short documents share a row without seeing each other. Without it, most of a " +
        "row may be empty."],
      held_out: ["Held out", "Share of the documents that is never learned, to validate on. With " +
        "none you cannot see it learning by heart."],
      optim: ["Optimiser", "The rule that moves the weights. AdamW is the safe one; Lion and SGD " +
        "need half its memory."],
      momentum: ["Momentum", "How long SGD and Muon remember a direction. Others ignore it."],
      nesterov: ["Nesterov", "SGD and Muon look ahead along their direction. Others ignore it."],
      lr_scheduler_type: ["Schedule",
        "How the learning rate goes down. A gentle end keeps what was learned."],
      warmup_steps: ["Warm-up steps",
        "Steps over which the rate rises from zero. Too few and the first steps do harm."],
      weight_decay: ["Weight decay",
        "Pulls weights towards zero at each step. More resists learning by heart."],
      max_grad_norm: ["Gradient clip",
        "Longest gradient that a step may follow. Lower tames jumps; 0 turns clipping off."],
      adam_beta1: ["Adam beta 1", "How long the direction of past steps is remembered."],
      adam_beta2: ["Adam beta 2", "How long the size of past gradients is remembered."],
      adam_epsilon: ["Adam epsilon", "Keeps steps finite where gradients are nearly zero."],
      gradient_checkpointing: ["Recompute activations",
        "Keeps less and computes it again going back: less memory, a third more time."],
      activation_dtype: ["Saved activations",
        "What recomputing keeps: sixteen bits take half the memory and round it. Without " +
        "recomputing only float32 is of use."],
      eval_steps: ["Validate and answer every",
        "Steps between looks at held-out text and answers to your questions. Often is slower."],
      max_new_tokens: ["Tokens of an answer", "The longest answer to a question of yours."],
      save_steps: ["Save every", "Steps between checkpoints: the most you can lose."],
      logging_steps: ["Report every", "Steps between points of the curve."],
      seed: ["Seed", "Same seed, same data, same device: the same run, number for number."],
    }),
    units: /** @type {Record<string, string>} */ ({
      context_length: "tokens", per_device_train_batch_size: "rows", max_steps: "steps",
      gradient_accumulation_steps: "batches", warmup_steps: "steps", eval_steps: "steps",
      save_steps: "steps", logging_steps: "steps", max_new_tokens: "tokens",
    }),
  },

  estimate: {
    asking: "Counting the memory of a step.",
    fits: (/** @type {string} */ size) => `It fits: ${size} on the GPU.`,
    fitsNot: (/** @type {string} */ size) => `It does not fit: ${size} on the GPU.`,
    trained: "Weights that learn",
    trainedOf: (/** @type {string} */ trained, /** @type {string} */ all) => `${trained} of ${all}`,
    suggestion: (/** @type {string} */ reason) => `What would fit: ${reason}`,
    limit: "May take at most", unit: "GB",
    limitHint: "A browser does not say how much memory the GPU has. Write what this may take, " +
      "and settings that fit are proposed. Empty: what the GPU's own limits allow.",
    use: "Use these settings", noSuggestion: "No change of settings was found that fits.",
  },

  prompts: {
    heading: "Your own questions", label: "Questions, one a line",
    hint: "Answered before the first step and at each validation, so that you can judge by " +
      "reading.",
  },

  actions: { start: "Fine-tune", label: "Fine-tuning", waiting: "Fine-tune can start when the " +
    "model and the data are known." },

  intro: {
    heading: "What happens here",
    body: "A model that has read much is taught a little more: your text. With LoRA its own " +
      "weights stay as they are, and a small adapter beside them learns. You can switch it off, " +
      "compare, and take it home for Python's peft. Choose a model and drop a file; what the " +
      "model will see appears here.",
  },

  answers: {
    heading: "Your questions, before and after", compare: "Compare with",
    question: "Question", before: "Before", noBefore: "no answer",
    latest: (/** @type {string} */ step) => `latest, step ${step}`,
    at: (/** @type {string} */ step) => `step ${step}`,
    atHead: (/** @type {string} */ step) => `At step ${step}`,
    onlyBefore: "The first answers of the fine-tuned model come at the next validation.",
    note: "Underlined words are not in the answer before.",
    same: "The same as before.", nothing: "(nothing)",
    older: (/** @type {string} */ count) => `All ${count} evaluations, latest first`,
    none: "No questions were asked. Write some on the left before you start.",
  },

  preview: {
    heading: "What the model sees", back: "Previous", on: "Next",
    at: (/** @type {string} */ row, /** @type {string} */ all) => `row ${row} of ${all}`,
    legend: "Underlined tokens are learned; grey ones are only read. A bar marks where another " +
      "document begins.",
    learned: "learned: ", read: "only read: ",
    document: (/** @type {string} */ n) => `document ${n}`,
    token: (/** @type {string} */ id) => `id ${id}`,
  },

  facts: { memory: "Memory" },

  runs: {
    heading: "Fine-tunes", none: "Fine-tunes that you start are listed here.",
    before: "Your fine-tune ",
    origin: (/** @type {string} */ base, /** @type {string} */ method) => `${base}, ${method}`,
  },

  home: {
    take: "Take home", close: "Close",
    of: (/** @type {string} */ name) => `Take ${name} home`,
    form: "What", forms: /** @type {Record<string, string>} */ ({
      adapter: "adapter (for peft)", model: "whole model (for Transformers)" }),
    dtype: "Numbers as", dtypes: /** @type {Record<string, string>} */ ({
      float32: "float32, exact", bfloat16: "bfloat16, half the size",
      float16: "float16, half the size" }),
    zip: "Download .zip", folder: "To a folder you pick", packing: "Packing",
    writing: (/** @type {string} */ done, /** @type {string} */ all) =>
      `Writing: ${done} of ${all}`,
    written: (/** @type {string} */ folder) => `The folder ${folder} is written.`,
    notWritten: "The folder could not be written. Pick another, or download the .zip.",
  },

  adapters: {
    heading: "Adapters", none: "Adapters that you train or add are listed here.",
    choose: "Add an adapter's folder (peft)", add: "Add", cancel: "Not now",
    forModel: "It belongs to", delete: "Delete",
    found: (/** @type {string} */ title) => `An adapter was found: ${title}.`,
    foundFor: (/** @type {string} */ title, /** @type {string} */ base) =>
      `An adapter was found: ${title}. It was made for ${base}.`,
    noModel: "An adapter needs its model: get that first.",
    notAdapter: "No adapter was found in this folder.",
    expected: "adapter_config.json and adapter_model.safetensors",
    received: (/** @type {string} */ count) => `${count} files, not these`,
    line: (/** @type {string} */ rank, /** @type {string} */ parts, /** @type {string} */ size) =>
      `rank ${rank} \u00b7 ${parts} \u00b7 ${size}`,
    of: (/** @type {string} */ model) => `for ${model}`,
    confirm: (/** @type {string} */ title, /** @type {string} */ size) =>
      `Delete the adapter ${title} (${size})? This cannot be undone.`,
    confirmYes: (/** @type {string} */ title) => `Delete ${title}`, confirmNo: "Keep it",
    heads: (/** @type {string} */ count) => count === "1" ? "1 adapter" : `${count} adapters`,
    chat: "Chat with it", title: "dropped adapter",
  },

  chat: {
    legend: "Adapter", which: "Which adapter", weight: "Weight",
    on: "Adapter on", off: "Adapter off",
    next: "Takes effect at the next answer.",
    wrote: (/** @type {string} */ title, /** @type {string} */ weight) =>
      `adapter ${title} at ${weight}`,
    wroteWithout: "without an adapter",
  },
};
