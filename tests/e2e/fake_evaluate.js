// The part of the test double that measures; it stands in front of fake_worker.js, which adds it to
// its own commands. More of the scenario:
//   judged     how many evaluations are kept, one of each kind in turn
//   bad        how many lines of a task set of one's own cannot be used

const JUDGED = ["tasks", "text", "conditions", "memorisation"];
const SPEED = { seconds: 3.2, goodput: 0.21, tokens_per_second: 23.6, first_token_ms: 212,
  kilobytes_per_second: 0.104, tokens: 74, bytes: 333 };

function itemAt(line, right) {
  const cloze = line % 4 === 0;
  const choices = cloze ? [" <b>blue</b>"] : [" a key", " a pillow", " a ladder"];
  const answer = cloze ? 0 : line % 3;
  const chosen = right ? answer : cloze ? null : (answer + 1) % 3;
  return { line, context: `To open <i>door ${line}</i>, Anna took out`, choices, answer, cloze,
    weight: 1, logprobs: choices.map((_, i) => -2.25 - i), tokens: choices.map(() => 2),
    bytes: choices.map((one) => one.length), chosen, chosen_per_byte: chosen, correct: right,
    correct_per_byte: right };
}

function accuracyOf(items, chance) {
  const accuracy = items.filter((one) => one.correct).length / items.length;
  return { items: items.length, accuracy, accuracy_per_byte: accuracy, chance, loss_per_byte: 0.41,
    standard_error: Math.sqrt(accuracy * (1 - accuracy) / items.length) };
}

function conditionAt(name, exact) {
  const answers = Array.from({ length: 24 }, (_, i) => ({ line: i + 4, exact: i / 24 < exact,
    text: i === 5 ? "" : ` <u>key</u> of the ${name} lighthouse, who`, logprob: -3.1, greedy: false,
    bytes: 4, weight: 1, shown: 0, passages: [] }));
  return { name, exact, loss_per_byte: 0.9 - exact / 2, answers,
    speed: { ...SPEED, goodput: exact / 3, first_token_ms: 200 + 200 * exact } };
}

function continuationAt(i, verbatim) {
  const prefix = "the lamp was lit at dusk, as it had been lit ";
  const text = "\u{1F319}very <b>day</b> ".repeat(12);
  return { offset: 120 + 610 * i, line: 2 + 9 * i, prefix, text, verbatim,
    verbatim_tokens: Math.round(verbatim / 4), found: verbatim + 3,
    found_offset: 40 + 610 * i, found_line: 1 + 9 * i, found_text: "lit every" };
}

function scoreOf(kind, adapter) {
  if (kind === "text") {
    return { loss: adapter ? 1.9 : 2.3456, perplexity: Math.exp(adapter ? 1.9 : 2.3456),
      bits_per_byte: 0.9132, tokens: 12_345, bytes: 48_120, unscored_bytes: 3,
      context_length: 1024, overlap: 512, windows: 24 };
  }
  if (kind === "tasks") {
    const items = Array.from({ length: 40 }, (_, i) => itemAt(i + 1, (i % (adapter ? 5 : 3)) > 0));
    return { name: "everyday", sha256: "5e".repeat(32), bad_lines: 0, seconds: 4.2, goodput: 0.16,
      accuracy: accuracyOf(items, 0).accuracy, items,
      choice: accuracyOf(items.filter((one) => !one.cloze), 1 / 3),
      cloze: accuracyOf(items.filter((one) => one.cloze), 0) };
  }
  if (kind === "conditions") {
    const names = adapter ? ["base", "few-shot", "adapter", "adapter + retrieval"]
      : ["base", "few-shot", "base + retrieval"];
    return { name: "everyday", sha256: "5e".repeat(32), shots: 3, max_new_tokens: 24,
      prompts: Array.from({ length: 24 }, (_, i) => ({ line: i + 4,
        context: `To open door ${i + 4}, Anna took out her`, expected: " key" })),
      conditions: names.map((name, i) => conditionAt(name, [0.125, 0.25, 0.5, 0.75][i])) };
  }
  const lengths = [124, 61, 33, 18, 12, 7, 3, 0, 0, 0, 0, 0];
  return { characters: 7400, prefix_characters: 80, max_new_tokens: 64, seed: 0, longest: 124,
    longest_tokens: 31, longest_found: 127, mean: 21.5, copied: 2 / 12,
    continuations: lengths.map((length, i) => continuationAt((i * 5) % 12, length)) };
}

function judgeCommands({ say, wait, scenario, isAborted, setAborted }) {
  let count = 0;
  const made = (kind, model, adapter, subject) => {
    count += 1;
    return { evaluation: `${kind}-${count}`, model, adapter, kind,
      created_at: 1_750_000_000 + count,
      title: `${kind}: ${subject}, ${model}${adapter ? ` with ${adapter}` : ""} (${count})`,
      result: { subject: { name: subject, sha256: "5e".repeat(32) }, metrics: [],
        device: "webgpu google swiftshader", speed: kind === "tasks" ? SPEED : null,
        score: scoreOf(kind, adapter) } };
  };
  let kept = Array.from({ length: scenario.judged ?? 0 }, (_, i) => made(JUDGED[i % 4], "smollm2",
    i < 4 ? "lighthouse" : null, i % 2 ? "A lighthouse" : "everyday")).reverse();
  return {
    read_tasks({ tasks }) {
      const own = !["everyday", "endings"].includes(tasks);
      const bad_count = own ? scenario.bad ?? 0 : 0;
      return { name: tasks, sha256: "5e".repeat(32), items: 40, bad_count,
        clozes: tasks === "endings" ? 40 : 0,
        bad_lines: Array.from({ length: Math.min(3, bad_count) }, (_, i) => ({
          line: 2 + 7 * i, reason: "an item has either choices or a cloze" })) };
    },
    async evaluate({ kind, model, adapter, tasks, corpus }, id) {
      setAborted(false);
      say("stage", { stage: "weights", done: 120_000_000, total: 271_000_000, unit: "bytes" });
      for (let done = 0; done <= 20; done += 1) {
        say("evaluation_progress", { id, stage: "Writing: base", done, total: 20,
          seconds_left: done ? (20 - done) / 2 : null });
        await wait(scenario.piece_ms ?? 1);
        if (isAborted()) throw { code: "cancelled", message: "The evaluation was stopped." };
      }
      const evaluation = made(kind, model, adapter, tasks ?? (corpus ? "A lighthouse" : ""));
      kept = [evaluation, ...kept];
      return { evaluation };
    },
    evaluations: () => ({ evaluations: kept }),
    delete_evaluation({ evaluation }) {
      kept = kept.filter((one) => one.evaluation !== evaluation);
      return { evaluations: kept };
    },
    compare_evaluations({ first, second }) {
      const [a, b] = [first, second].map((name) => kept.find((one) => one.evaluation === name));
      const row = { name: "accuracy", unit: "", first: 0.65, second: 0.8, difference: 0.15,
        better: "second" };
      return { markdown: `# ${a.title} and ${b.title}\n`, table: {
        first: a.title, second: b.title, notes: ["Times are of different GPUs: one; another."],
        rows: [row, { ...row, name: "first token", unit: "ms", first: 212, second: null,
          difference: null, better: "neither" }],
        flips: a.kind !== "tasks" ? [] : [{ line: 4,
          context: "To open <i>door 4</i>, Anna took out",
          expected: " a key", condition: "", first: false, second: true }] } };
    },
    export_evaluation: ({ evaluation, form }) => ({ data: new TextEncoder().encode("{}\n"),
      name: `${evaluation}.${form === "json" ? "json" : "md"}` }),
  };
}
