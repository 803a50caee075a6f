/**
 * The shapes of protocol.json as JSDoc types, for the type checker only. `protocol.js` checks
 * the real messages at run time.
 *
 * @typedef {{runtime: string, name: string, vendor: string, architecture: string,
 *   precision: string, features: string[], limits: Record<string, number>,
 *   fallback?: string | null}} Device
 * @typedef {{name: string, summary: string, parameters: number, num_hidden_layers: number,
 *   hidden_size: number, num_attention_heads: number, context_length: number,
 *   settings: Settings, corpus?: string | null, prompt?: string | null,
 *   vocab_size?: number | null}} Preset
 * @typedef {{sha256: string, name: string, bytes: number, characters: number, preview: string,
 *   language: string, builtin: boolean}} Corpus
 * @typedef {Record<string, string | number | boolean> & {preset: string, context_length: number,
 *   per_device_train_batch_size: number, max_steps: number}} Settings
 * @typedef {{run: string, preset: string, parameters: number, step: number, max_steps: number,
 *   loss?: number | null, validation_loss?: number | null, saved_at: number, bytes: number,
 *   corpus: Corpus, settings: Settings, complete: boolean, kind?: string | null,
 *   base?: string | null, finetune?: FineTuneSettings | null}} Run
 * @typedef {{step: number, loss: number, learning_rate: number, grad_norm: number}} Point
 * @typedef {{step: number, loss: number, bits_per_byte?: number | null}} ValidationPoint
 * @typedef {{step: number, text: string}} Sample
 * @typedef {{step: number, answers: {prompt: string, text: string}[]}} Answers
 * @typedef {{points: Point[], validation: ValidationPoint[], samples: Sample[],
 *   answers?: Answers[] | null}} History
 * @typedef {{code: string, message: string, expected?: string | null, received?: string | null,
 *   remedy?: string | null, control?: string | null, detail?: string | null}} Problem
 * @typedef {{name: string, size: string, milliseconds: number, gflops: number,
 *   error: number}} BenchmarkRow
 * @typedef {{parameters: number, memory: Record<string, number>, total_bytes: number,
 *   step_ms: number, tokens_per_step: number, total_seconds: number}} Estimate
 * @typedef {{device: Device, presets: Preset[], corpora: Corpus[], runs: Run[],
 *   defaults: Settings}} BootReply
 * @typedef {{stage: string, done: number, total: number, unit: string}} Stage
 * @typedef {{tokens_per_second: number, step_ms: number, python_ms: number,
 *   seconds_left: number}} Pace
 * @typedef {{name: string, id?: number} & Record<string, any>} Message
 *
 * @typedef {{model: string, title: string, source?: string | null, bytes: number,
 *   licence?: string | null, model_type?: string | null, parameters?: number | null,
 *   precision?: string | null, context_length?: number | null, chat: boolean, keep: boolean,
 *   complete: boolean, done_bytes: number, added_at: number, problem?: Problem | null}} StoredModel
 * @typedef {{source: string, title: string, summary: string, bytes: number, parameters: number,
 *   licence: string, chat: boolean, model?: string | null}} CatalogueModel
 * @typedef {{source: string, model: string, title: string,
 *   files: {name: string, bytes: number | null}[], bytes: number, licence?: string | null,
 *   model_type?: string | null, parameters?: number | null, precision?: string | null,
 *   context_length?: number | null, gpu_bytes?: number | null, free_bytes?: number | null,
 *   problem?: Problem | null}} ModelFacts
 * @typedef {{role: string, content: string}} ChatMessage
 * @typedef {Record<string, number | null | undefined>} ChatSettings
 * @typedef {{prompt_tokens: number, reused_tokens: number, prefill_tokens: number,
 *   completion_tokens: number, prefill_ms: number, first_token_ms: number, decode_ms: number,
 *   prefill_tokens_per_second: number, decode_tokens_per_second: number,
 *   kilobytes_per_second: number}} Usage
 * @typedef {{conversation: string, title: string, model: string, system: string,
 *   messages: ChatMessage[], settings: ChatSettings, updated_at: number}} Conversation
 * @typedef {{model: StoredModel, context_length: number, gpu_bytes: number, dispatches: number,
 *   layers: number, defaults: ChatSettings}} Loaded
 *
 * @typedef {{r: number, lora_alpha: number, lora_dropout: number, use_rslora: boolean,
 *   target_modules: string[]}} LoraSettings
 * @typedef {Record<string, any> & {method: string, lora: LoraSettings, context_length: number,
 *   per_device_train_batch_size: number, max_steps: number, learning_rate: number,
 *   packing: boolean, prompts: string[], held_out: number, seed: number}} FineTuneSettings
 * @typedef {{line: number, reason: string}} BadLine
 * @typedef {{text: string, id: number, trained: boolean, document: number}} ShownToken
 * @typedef {{kind: string, documents: number, bad_lines: BadLine[], bad_count: number,
 *   tokens: number, trained_tokens: number, rows: number, truncated_documents: number,
 *   truncated_tokens: number, held_out_documents: number, steps_of_an_epoch: number,
 *   preview: {tokens: ShownToken[]}[]}} DataFacts
 * @typedef {Estimate & {trained_parameters: number, fits: boolean,
 *   suggestion?: FineTuneSettings | null, suggestion_reason?: string | null}} FineTuneEstimate
 * @typedef {{adapter: string, title: string, model: string, run?: string | null,
 *   step?: number | null, r: number, lora_alpha: number, target_modules: string[],
 *   parameters: number, bytes: number, added_at: number, problem?: Problem | null}} Adapter
 */
export {};
