/** The words of the evaluation panel: "What did it learn?". Every term is explained where it is. */

export const evaluate = {
  heading: "What did it learn?",
  go: "What did it learn? Measure a model, fine-tuned or not",
  lead: "Measure a model, alone or with an adapter, and keep what you find to compare. " +
    "Everything happens in this tab.",
  noNumber: "\u2013",

  form: {
    heading: "Measure", model: "Model", adapter: "Adapter", none: "none", kind: "What to measure",
    models: "Models", runs: "Your runs",
    waiting: "Models appear here in a moment.",
    noModel: "No model is here yet. Get one under Models, or train one.",
    noAdapter: "This model has no adapter here.",
    chooseModel: "Choose a model first.",
    kinds: /** @type {Record<string, [string, string]>} */ ({
      text: ["Held-out text", "How well it predicts a text that it has not learned."],
      tasks: ["Tasks", "How many questions it gets right."],
      conditions: ["Side by side", "The same questions alone, after examples, with the adapter, " +
        "and with a text to look things up in."],
      memorisation: ["Memorisation", "How much of its training text it recites word for word."],
    }),
  },

  subject: {
    text: "Text", lookUp: "Text to look things up in", training: "Its training text",
    noLookUp: "none: leave this condition out", nothing: "Choose a text.",
    page: "Come with tabgrad", own: "Yours",
    option: (/** @type {string} */ name, /** @type {string} */ size) => `${name} \u00b7 ${size}`,
    paste: "Paste text", file: "Choose a file", pasteLabel: "Your text", use: "Use this text",
    pasteName: "Pasted text",
    drop: "Or drop a file on this part of the page. It stays in this browser.",
    tasks: "Task set", tasksFile: "Choose a JSONL file",
    sets: /** @type {Record<string, string>} */ ({
      everyday: "everyday: things everybody knows", endings: "endings: one forced word" }),
    reading: "Reading the tasks.",
    found: (/** @type {string} */ choices, /** @type {string} */ clozes) =>
      `Found: ${choices} multiple-choice questions, ${clozes} texts with a missing end (clozes).`,
    bad: (/** @type {string} */ count) =>
      count === "1" ? "1 line cannot be used and is left out:"
        : `${count} lines cannot be used and are left out:`,
    line: (/** @type {string} */ line, /** @type {string} */ reason) => `line ${line}: ${reason}`,
    more: (/** @type {string} */ count) => `and ${count} more`,
  },

  options: {
    heading: "All options", usual: "usual",
    whole: (/** @type {string} */ name) =>
      `${name}: write a whole number, or leave it empty for the usual one.`,
    names: /** @type {Record<string, [string, string]>} */ ({
      share: ["Part of the text", "Pre-training here holds back the last tenth: measure a run of " +
        "yours on that."],
      context_length: ["Context, in tokens", "How far back it may look. Empty: 1024, or what " +
        "the model can read."],
      overlap: ["Overlap, in tokens", "What two windows share, so that no token is judged " +
        "without context. Empty: half the context."],
      writing: ["Contexts written on", "Texts it writes to measure its speed. 0: none."],
      shots: ["Examples", "Answered questions before the prompt; they are not asked."],
      max_new_tokens: ["Tokens of an answer", "The longest it may write."],
      prefixes: ["Prefixes", "Places of the text that it is asked to go on from."],
      prefix_characters: ["Characters of a prefix", "What it reads at each place."],
      seed: ["Seed", "The same seed takes the same places."],
    }),
    shares: /** @type {Record<string, string>} */ ({ "1": "all of it", "0.1": "its last tenth" }),
  },

  actions: {
    label: "Measuring", start: "Measure", busy: "Measuring", stop: "Stop", stopping: "Stopping",
    begun: "Measuring.", stopped: "Stopped. Nothing was kept.",
    done: (/** @type {string} */ title) => `Measured and kept: ${title}.`,
    trains: "A training run has the GPU too: both are slower until it ends or pauses.",
    at: (/** @type {string} */ stage, /** @type {string} */ amount) =>
      amount ? `${stage}: ${amount}` : stage,
    of: (/** @type {string} */ done, /** @type {string} */ all) => `${done} of ${all}`,
    left: (/** @type {string} */ words, /** @type {string} */ time) =>
      `${words}, about ${time} left`,
  },

  result: {
    intro: "What is measured appears here, with every number explained. It is kept in this " +
      "browser until you delete it.",
    line: (/** @type {string} */ name, /** @type {string} */ adapter) =>
      adapter ? `${name} with the adapter ${adapter}` : `${name} without an adapter`,
    on: (/** @type {string} */ subject, /** @type {string} */ device) =>
      `measured on ${subject}, GPU: ${device}`,
    close: "Close", more: (/** @type {string} */ count) => `Show ${count} more`,
    right: "right", wrong: "wrong", nothing: "(nothing)", table: "Table",
  },

  textScore: {
    loss: "Loss", nats: "nats a token",
    lossMeans: "How surprised it is by each next token, on average. Lower is better.",
    perplexity: "Perplexity",
    lossWords: (/** @type {string} */ means, /** @type {string} */ value,
      /** @type {string} */ count) =>
      `${means} ${value}: as unsure as choosing among ${count} equally likely tokens.`,
    perplexityMeans: "Among how many equally likely tokens it chooses: e to the loss.",
    bits: "Bits per byte", bitsUnit: "bits",
    bitsMeans: "Bits that each byte of the text would take if the model compressed it. Compare " +
      "models of different tokenizers by this one only.",
    tokens: "Tokens scored", bytes: "Bytes scored", unscored: "Bytes before the first score",
    context: "Context", overlap: "Overlap", windows: "Windows",
    ofTokens: (/** @type {string} */ count) => `${count} tokens`,
  },

  taskScore: {
    accuracy: "Accuracy", accuracyMeans: "Share of the answers that are right, by weight.",
    choice: "Multiple choice", cloze: "Missing ends (cloze)",
    all: "All", perByte: "Multiple choice, per byte",
    plot: "Right answers",
    plotMeans: "A choice is right where it is the likeliest; per byte, long choices are not held " +
      "back by their length. An end is right where greedy writing gives it.",
    plusMinus: (/** @type {string} */ value, /** @type {string} */ error) => `${value} ± ${error}`,
    errorMeans: "± is the standard error: with other questions of the kind the number would " +
      "usually lie within twice as much.",
    chance: (/** @type {string} */ share) => `Guessing would give ${share}.`,
    loss: "Loss of the right answer",
    lossMeans: "How surprised it is by the right answer, in nats for each of its bytes. Lower is " +
      "better.",
    natsByte: "nats a byte",
    goodput: "Goodput G", goodputUnit: "a second",
    goodputMeans: "Score earned per second, so that slow answers count for less.",
    time: "Time", bad: "Lines left out",
    items: "Questions", onlyWrong: "Only those it got wrong",
    context: "Question", expected: "Right answer", chosen: "It chose", outcome: "Outcome",
    other: "something else",
    logprobMeans:
      "Log-likelihood: how likely it finds an answer, in nats; nearer to 0 is likelier.",
    logprob: (/** @type {string} */ nats) => `log-likelihood ${nats}`,
    line: (/** @type {string} */ line) => `line ${line}`,
    written: "While writing",
  },

  speed: {
    tokens: "Writing speed", tokensUnit: "tokens/s",
    tokensMeans: "Written in a second, first tokens left out.",
    first: "First token", firstMeans: "Time from a prompt to the first token.",
    bandwidth: "Bandwidth B", bandwidthUnit: "KB/s",
    bandwidthMeans: "Kilobytes of text written in a second; 1 KB is 1000 bytes.",
  },

  conditions: {
    table: "Conditions", name: "Condition",
    names: /** @type {Record<string, string>} */ ({
      base: "base", "few-shot": "few-shot", adapter: "adapter",
      "adapter + retrieval": "adapter + retrieval", "base + retrieval": "base + retrieval" }),
    means: /** @type {Record<string, string>} */ ({
      base: "the question alone, no adapter",
      "few-shot": "after answered examples, no adapter",
      adapter: "the question alone, with the adapter",
      "adapter + retrieval": "with the adapter, after the passage most like the question",
      "base + retrieval": "no adapter, after the passage most like the question" }),
    exact: "Exact answers", exactMeans: "Share of the answers that begin with the expected one.",
    answers: "Answers side by side",
    expected: (/** @type {string} */ words) => `expected: ${words}`,
    note: (/** @type {string} */ shots, /** @type {string} */ tokens) =>
      `${shots} examples for few-shot; at most ${tokens} tokens an answer, written greedily.`,
  },

  memory: {
    longest: "Longest verbatim continuation",
    characters: (/** @type {string} */ count) =>
      count === "1" ? "1 character" : `${count} characters`,
    tokens: (/** @type {string} */ count) => count === "1" ? "1 token" : `${count} tokens`,
    none: "Nothing was recited: after no prefix did it go on word for word.",
    means: "After a piece of the training text, how far it goes on word for word. Measure a " +
      "model that has not seen the text too: what it finds is chance.",
    where: (/** @type {string} */ line, /** @type {string} */ offset) =>
      `line ${line}, character ${offset}`,
    after: (/** @type {string} */ where) => `In the text: ${where}.`,
    read: "what it read: ", recited: "recited word for word: ", own: "its own words: ",
    legend: "Grey: what it read. Underlined: recited word for word. The rest: its own words.",
    mean: "Mean over all prefixes", copied: "Prefixes with 50 characters or more",
    found: "Longest part found anywhere in the text", prefixes: "Prefixes",
    histogram: "How long the recitals are, in characters",
    histogramMeans: "Prefixes by how far each went on word for word.",
    bin: (/** @type {string} */ from, /** @type {string} */ to) =>
      from === to ? from : to ? `${from} to ${to}` : `${from} or more`,
    strip: "Where they stand", stripMeans: "Each mark is a prefix, at its place in the text; its " +
      "height is how far it went on word for word.",
    begin: "start of the text", end: "end",
    place: "Place", verbatim: "Verbatim", anywhere: "Found anywhere", words: "Recited",
  },

  kept: {
    heading: "Kept evaluations", none: "What you measure is kept here.",
    open: "Open", json: "JSON", markdown: "Markdown", delete: "Delete",
    of: (/** @type {string} */ action, /** @type {string} */ title) => `${action}: ${title}`,
    confirm: (/** @type {string} */ title) => `Delete "${title}"? This cannot be undone.`,
    confirmYes: "Delete it", confirmNo: "Keep it", writing: "Writing",
    compare: "Compare two", first: "A", second: "B", choose: "choose",
    button: "Compare", few: "Two of the same kind can be compared once you have them.",
    chooseTwo: "Choose two evaluations first.",
  },

  compare: {
    heading: "Two evaluations side by side",
    a: (/** @type {string} */ title) => `A: ${title}`,
    b: (/** @type {string} */ title) => `B: ${title}`,
    measure: "Measure", difference: "B \u2212 A", better: "Better",
    betters: /** @type {Record<string, string>} */ ({ first: "A", second: "B", neither: "" }),
    flips: "Items that only one got right", noFlips: "Both got the same items right.",
    who: "Right", condition: "Condition", markdown: "Download as Markdown",
    fileName: "comparison.md",
  },
};
