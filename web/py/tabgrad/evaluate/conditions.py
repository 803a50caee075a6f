"""One set of held-out prompts under several conditions, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tabgrad import platform
from tabgrad.errors import DataError
from tabgrad.evaluate.goodput import Speed, speed
from tabgrad.evaluate.progress import Tell, silent
from tabgrad.evaluate.retrieval import Passage, Retriever
from tabgrad.evaluate.scorer import Scored, Scorer
from tabgrad.evaluate.tasks import Item, TaskSet
from tabgrad.evaluate.writing import Answer, answer, begins_with, warm_up
from tabgrad.generate.language_model import LanguageModel

BASE, FEW_SHOT, ADAPTER = "base", "few-shot", "adapter"
RETRIEVAL, ADAPTER_RETRIEVAL = "base + retrieval", "adapter + retrieval"
NEW_TOKENS = 24
SHOTS = 3
PASSAGES = 1
BETWEEN = "\n\n"


@dataclass(frozen=True)
class Answered:
    """One prompt under one condition.

    Attributes:
        line: of the item.
        text: what was written.
        exact: whether it begins with the expected answer.
        logprob: of the expected answer after the prompt, in nats.
        greedy: whether each of its tokens is the likeliest one.
        bytes: of the expected answer.
        weight: of the item.
        shown: how many examples or passages stand before the prompt.
        passages: where the passages begin in the text, in characters.
    """

    line: int
    text: str
    exact: bool
    logprob: float
    greedy: bool
    bytes: int
    weight: float
    shown: int
    passages: tuple[int, ...]


@dataclass(frozen=True)
class Condition:
    """One condition.

    Attributes:
        name: "base", "few-shot", "adapter", "adapter + retrieval", or without an adapter "base +
            retrieval".
        exact: weighted share of the answers that begin with the expected one.
        loss_per_byte: of the expected answers: -log p over their bytes, in nats.
        speed: with the exact answers as the scores of goodput.
        answers: one for each item.
    """

    name: str
    exact: float
    loss_per_byte: float
    speed: Speed
    answers: tuple[Answered, ...]


@dataclass(frozen=True)
class Prompt:
    """An item as it was asked and answered.

    Attributes:
        line: of the file.
        context: the held-out prompt.
        expected: the right answer.
    """

    line: int
    context: str
    expected: str


@dataclass(frozen=True)
class Conditions:
    """All conditions of one model.

    Attributes:
        name, sha256: of the task set.
        prompts: the items that were asked, in order.
        shots: examples of the few-shot condition; they are taken from the set's start and are
            not asked.
        max_new_tokens: most tokens of an answer.
        chat: whether the prompts were rendered by the model's chat template.
        conditions: side by side; `answers[i]` belongs to `prompts[i]`.
    """

    name: str
    sha256: str
    prompts: tuple[Prompt, ...]
    shots: int
    max_new_tokens: int
    chat: bool
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class Setting:
    """What a condition puts before a prompt, and whether the adapter is on."""

    name: str
    adapter: bool
    examples: tuple[Item, ...] = ()
    retriever: Retriever | None = None

    def before(self, item: Item) -> list[tuple[str, Passage | None]]:
        """The examples or passages before an item, the most useful last."""
        if self.retriever is not None:
            return [(one.text.strip(), one)
                    for one in reversed(self.retriever(item.context, PASSAGES))]
        return [(one.context + one.expected, None) for one in self.examples]


async def conditions(model: LanguageModel, scorer: Scorer, adapter: str | None, tasks: TaskSet,
                     retriever: Retriever | None, *, shots: int = SHOTS,
                     max_new_tokens: int = NEW_TOKENS, chat: bool = False,
                     tell: Tell = silent) -> Conditions:
    """Asks the same held-out prompts under each condition.

    base: the prompt alone. few-shot: after `shots` answered examples. adapter: the prompt alone,
    the adapter switched on. adapter + retrieval: after the passage of the corpus that is most like
    it. Nothing is loaded anew: the adapter is one number on the GPU.

    Args:
        model: that writes; the adapter, if any, is attached.
        scorer: of the same decoder, made after the adapter was attached.
        adapter: its name; None leaves out what needs one, and adds base + retrieval.
        tasks: its first `shots` items are the examples, the others are asked.
        retriever: over the text that answers may be in; None leaves retrieval out.
        shots: how many examples.
        max_new_tokens: most tokens of an answer.
        chat: whether each prompt is a user's message, rendered by the model's own chat template;
            the expected answers then have no space before them.
        tell: called before each answer.

    Raises:
        CheckpointError: `chat`, and the model has no template.
        DataError: no item is left to ask.
    """
    if not 0 <= shots < len(tasks.items):
        raise DataError("There must be more items than examples.", control="shots",
                        expected=f"0 to {len(tasks.items) - 1} examples", received=str(shots))
    asked = tasks.items[shots:]
    before = model.adapter, model.adapters[model.adapter].weight if model.adapter else 0.0
    await warm_up(model)
    found = []
    try:
        for setting in settings_of(adapter, tasks.items[:shots], retriever):
            model.use(adapter if setting.adapter else None)
            found.append(await _condition(model, scorer, setting, asked, max_new_tokens, chat,
                                          tell))
    finally:
        model.use(*before)
    prompts = tuple(Prompt(one.line, one.context, one.expected) for one in asked)
    return Conditions(tasks.name, tasks.sha256, prompts, shots, max_new_tokens, chat,
                      tuple(found))


def settings_of(adapter: str | None, examples: Sequence[Item],
                retriever: Retriever | None) -> list[Setting]:
    """The conditions that can be had, in the order in which they are shown."""
    found = [Setting(BASE, False)]
    if examples:
        found.append(Setting(FEW_SHOT, False, examples=tuple(examples)))
    if adapter is not None:
        found.append(Setting(ADAPTER, True))
    if retriever is not None:
        name = RETRIEVAL if adapter is None else ADAPTER_RETRIEVAL
        found.append(Setting(name, adapter is not None, retriever=retriever))
    return found


async def _condition(model: LanguageModel, scorer: Scorer, setting: Setting,
                     items: Sequence[Item], max_new_tokens: int, chat: bool,
                     tell: Tell) -> Condition:
    prompts = [_prompt(model, setting, item, max_new_tokens, chat) for item in items]
    written: list[Answer] = []
    for number, (prompt, _) in enumerate(prompts):
        tell(f"Writing: {setting.name}", number, len(prompts))
        written.append(await answer(model, _messages(prompt) if chat else prompt,
                                    max_new_tokens))
        await platform.current().pause()
    render = model.tokenizer.apply_chat_template
    scored = await scorer.loglikelihood(
        [(render(_messages(prompt)), item.expected.lstrip()) if chat else (prompt, item.expected)
         for (prompt, _), item in zip(prompts, items, strict=True)],
        lambda _, done, total: tell(f"Scoring: {setting.name}", done, total), rendered=chat)
    answers = tuple(_answered(*one) for one in zip(items, written, scored, prompts, strict=True))
    weights, scores = [one.weight for one in answers], [float(one.exact) for one in answers]
    total = math.fsum(weights)
    return Condition(
        setting.name, math.fsum(w * s for w, s in zip(weights, scores, strict=True)) / total,
        math.fsum(-one.logprob for one in answers) / sum(one.bytes for one in answers),
        speed([one.usage for one in written], [one.text for one in written], scores, weights),
        answers)


def _messages(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}]


def _prompt(model: LanguageModel, setting: Setting, item: Item, max_new_tokens: int, chat: bool,
            ) -> tuple[str, list[tuple[str, Passage | None]]]:
    """The prompt, and what of the examples or passages fits before it."""
    room = model.context_length - max_new_tokens
    parts = setting.before(item)
    while True:
        prompt = BETWEEN.join([*(text for text, _ in parts), item.context])
        if not parts or len(model.encode(_messages(prompt) if chat else prompt)) <= room:
            return prompt, parts
        parts = parts[1:]


def _answered(item: Item, written: Answer, scored: Scored,
              prompt: tuple[str, list[tuple[str, Passage | None]]]) -> Answered:
    parts = prompt[1]
    return Answered(
        item.line, written.text, begins_with(written.text, item.expected), scored.logprob,
        scored.greedy, scored.bytes, item.weight, len(parts),
        tuple(passage.offset for _, passage in parts if passage is not None))
