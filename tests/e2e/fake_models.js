// The part of the test double that speaks of models and conversations; it stands in front of
// fake_worker.js, which adds it to its own commands. More of the scenario:
//   models     how many models are here        cut        a download that was cut off
//   greedy     the models draw nothing         kept       how many conversations are kept
//   gated      the access token without which hosts refuse
//   piece_ms   time between pieces of a transfer or of a loading

const HERE = [
  { model: "smollm2", title: "SmolLM2 135M Instruct", bytes: 271_000_000, chat: true,
    source: "https://models.test/smollm2/", licence: "apache-2.0", model_type: "llama",
    parameters: 134_515_008, precision: "BF16", context_length: 8192 },
  { model: "tinystories", title: "TinyStories GPT-2 3M", bytes: 15_000_000, chat: false,
    source: "https://models.test/tinystories/", licence: null, model_type: "gpt2",
    parameters: 3_700_000, precision: "F32", context_length: 1024 },
].map((one) => ({ keep: false, complete: true, done_bytes: one.bytes, added_at: 1_750_000_000,
  problem: null, ...one }));
const CUT = { model: "gemma", title: "Gemma 3 270M", source: "https://models.test/gemma/",
  bytes: 575_000_000, licence: null, model_type: null, parameters: null, precision: null,
  context_length: null, chat: false, keep: false, complete: false, done_bytes: 120_000_000,
  added_at: 0, problem: null };
const ANSWER = "The sky looks <b>blue</b> because air scatters short waves of light more than "
  + "long ones. \u{1F319} At dusk the way through the air is long, and what is left is red. ";

function modelCommands({ say, wait, scenario, isAborted, setAborted }) {
  let models = [...HERE.slice(0, scenario.models ?? 0), ...(scenario.cut ? [CUT] : [])];
  let kept = Array.from({ length: scenario.kept ?? 0 }, (_, i) => ({
    conversation: `chat-${i}`, title: `Why is the sky blue, part ${i + 1}?`, model: "smollm2",
    system: "", updated_at: 1_750_000_000 - i, settings: {},
    messages: [{ role: "user", content: `Why is the sky blue, part ${i + 1}?` },
      { role: "assistant", content: ANSWER.repeat(3) }],
  }));
  let cancelled = false;
  const pause = () => wait(scenario.piece_ms ?? 1);
  const catalogue = () => [...HERE, { ...CUT, parameters: 268_000_000, licence: "gemma" }].map(
    (one, i) => ({
      source: one.source, title: one.title, bytes: one.bytes, parameters: one.parameters,
      licence: one.licence ?? "not stated", chat: one.chat || i === 2,
      summary: ["Answers short questions in English; the smallest that chats.",
        "Writes stories for small children; small enough for any machine.",
        "Follows short instructions in many languages. Google asks for consent."][i],
      model: models.find((known) => known.complete && known.source === one.source)?.model ?? null,
    }));
  const listing = () => ({ catalogue: catalogue(), models, used: 302_400_000,
    quota: 21_000_000_000, persistent: false });
  const stop = () => { throw { code: "cancelled", message: "Cancelled." }; };

  async function come(id, fresh) {
    cancelled = false;
    for (let i = 0; i <= 20; i += 1) {
      say("transfer", { id, file: "model.safetensors", file_done: (fresh.bytes / 20) * i | 0,
        file_bytes: fresh.bytes, done: (fresh.bytes / 20) * i | 0, bytes: fresh.bytes,
        seconds_left: i ? (20 - i) * 0.5 : null });
      await pause();
      if (!cancelled) continue;
      models = [...models, { ...CUT, ...fresh, complete: false, done_bytes: 5_000_000, chat: false }];
      stop();
    }
    models = [fresh, ...models.filter((one) => one.model !== fresh.model)];
    return { model: fresh };
  }

  async function write(id, { settings }, tokens) {
    setAborted(false);
    const all = ANSWER.repeat(Math.ceil((settings.max_new_tokens ?? 60) / 30));
    let text = "";
    for (let i = 0; i < all.length && !isAborted(); i += 9) {
      say("token", { id, text: all.slice(i, i + 9), logprobs: [] });
      text += all.slice(i, i + 9);
      await wait(scenario.step_ms);
    }
    const usage = { prompt_tokens: tokens, reused_tokens: 24, prefill_tokens: tokens - 24,
      completion_tokens: Math.ceil(text.length / 4), prefill_ms: 182, first_token_ms: 211,
      decode_ms: 2100, prefill_tokens_per_second: 340.2, decode_tokens_per_second: 24.6,
      kilobytes_per_second: 0.113 };
    return { text, finish_reason: isAborted() ? "abort" : "stop", usage, logprobs: [] };
  }

  return {
    models: listing,
    async model_facts({ source, headers }) {
      await pause();
      if (scenario.gated && headers?.Authorization !== `Bearer ${scenario.gated}`) {
        throw { code: "download", message: "The host does not give config.json to everyone.",
          received: "HTTP 401", control: "access-token" };
      }
      const known = [...HERE, CUT].find((one) => one.source === source) ?? HERE[1];
      return { facts: { source, model: known.model, title: known.title, bytes: known.bytes,
        files: [{ name: "config.json", bytes: 705 }, { name: "tokenizer.json", bytes: 2_104_556 },
          { name: "model.safetensors", bytes: known.bytes - 2_105_261 }],
        licence: known.licence, model_type: known.model_type, parameters: known.parameters,
        precision: known.precision, context_length: known.context_length,
        gpu_bytes: known.bytes - 2_105_261, free_bytes: scenario.free ?? 20_000_000_000,
        problem: scenario.hindrance ?? null } };
    },
    download_model: ({ source }, id) =>
      come(id, HERE.find((one) => one.source === source) ?? { ...CUT, complete: true,
        done_bytes: CUT.bytes, chat: true }),
    cancel_download() {
      cancelled = true;
      return {};
    },
    add_model: ({ title, files }, id) => come(id, { ...HERE[0], model: "dropped", title,
      source: "dropped", bytes: files.reduce((sum, file) => sum + file.size, 0) }),
    delete_model({ model }) {
      models = models.filter((one) => one.model !== model);
      return { models };
    },
    keep_model({ model, keep }) {
      models = models.map((one) => (one.model === model ? { ...one, keep } : one));
      return { models };
    },
    async load_model({ model }) {
      cancelled = false;
      // A run of ours writes as a model does.
      const found = models.find((one) => one.model === model)
        ?? { ...HERE[1], model, title: model, source: null };
      for (const [stage, total, unit] of [["weights", found.bytes, "bytes"],
        ["kernels", 31, "kernels"]]) {
        for (let i = 0; i <= 8; i += 1) {
          say("stage", { stage, done: Math.floor((total * i) / 8), total, unit });
          await pause();
          if (cancelled) stop();
        }
      }
      return { model: found, context_length: Math.min(4096, found.context_length),
        gpu_bytes: 312_000_000, dispatches: 212, layers: 30,
        defaults: { temperature: scenario.greedy ? 0 : 0.2, top_k: 0, top_p: 0.9, min_p: 0,
          repetition_penalty: 1, frequency_penalty: 0, presence_penalty: 0, max_new_tokens: 256 } };
    },
    unload_model() {
      cancelled = true;
      return {};
    },
    chat: (fields, id) => write(id, fields, 20 + fields.messages.map((one) =>
      one.content).join(" ").length),
    complete: (fields, id) => write(id, fields, 30 + fields.prompt.length),
    count_tokens: ({ messages, prompt }) => ({ context_length: 4096,
      tokens: Math.ceil((prompt ?? messages.map((one) => one.content).join(" ")).length / 4) }),
    conversations: () => ({ conversations: kept }),
    save_conversation({ conversation }) {
      kept = [conversation, ...kept.filter((one) =>
        one.conversation !== conversation.conversation)];
      return {};
    },
    delete_conversation({ conversation }) {
      kept = kept.filter((one) => one.conversation !== conversation);
      return { conversations: kept };
    },
  };
}
