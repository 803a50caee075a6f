// What the types of the engine say; `tsc -p tsconfig.json` is the test. Nothing runs this file.

import { createEngine, EngineError, Stream } from "../../web/engine/tabgrad.js";

/** @typedef {import("../../web/engine/tabgrad.js").ChatMessage} ChatMessage */

/** @type {ChatMessage[]} */
const messages = [{ role: "user", content: "Hello" }];

/** The type of what is written is inferred from `stream`. */
export async function inferred() {
  const engine = await createEngine({ model: "owner/name", contextLength: 512,
    onProgress: ({ stage, done, total }) => `${stage} ${done / total}` });
  const answer = await engine.chat.completions.create({ messages });
  answer.choices[0].message.content.trim();
  answer.usage.prompt_tokens_details.cached_tokens.toFixed();
  const stream = await engine.chat.completions.create({ messages, stream: true, stop: ["a"] });
  for await (const chunk of stream) chunk.choices[0].delta.content?.trim();
  stream.controller.abort();
  const text = await engine.completions.create({ prompt: "a", logprobs: 2, stream: false });
  text.choices[0].logprobs?.token_logprobs[0].toFixed();
  const pieces = await engine.completions.create({ prompt: "a", stream: true },
    { signal: AbortSignal.timeout(1000) });
  for await (const piece of pieces) piece.choices[0].text.trim();
  const either = await engine.chat.completions.create({ messages, stream: Math.random() > 0.5 });
  if (!(either instanceof Stream)) either.choices[0].message.content.trim();
}

/** What is wrong is wrong for the compiler too. */
export async function refused() {
  // @ts-expect-error a model must be named
  const engine = await createEngine({ contextLength: 512 });
  const stream = await engine.chat.completions.create({ messages, stream: true });
  // @ts-expect-error a stream has no choices
  stream.choices;
  // @ts-expect-error there are no such roles
  await engine.chat.completions.create({ messages: [{ role: "narrator", content: "a" }] });
  // @ts-expect-error it is called max_tokens
  await engine.completions.create({ prompt: "a", max_token: 3 });
  // @ts-expect-error a chat says true, and top_logprobs: 2
  await engine.chat.completions.create({ messages, logprobs: 2 });
}

/** @param {unknown} error */
export function explained(error) {
  return error instanceof EngineError ? `${error.code} ${error.param ?? ""} ${error.message}` : "";
}
