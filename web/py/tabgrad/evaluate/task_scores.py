"""A task set answered by log-likelihood: which choice is likeliest, which cloze is greedy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tabgrad import platform
from tabgrad.evaluate.goodput import goodput
from tabgrad.evaluate.progress import Tell, silent
from tabgrad.evaluate.scorer import Scored, Scorer
from tabgrad.evaluate.tasks import Item, TaskSet


@dataclass(frozen=True)
class ItemScore:
    """One item.

    Attributes:
        line: of the file.
        context: as in the file.
        choices: as in the file; a cloze has one.
        answer: index of the right one.
        cloze: which kind it is.
        weight: how much it counts.
        logprobs: of each choice, in nats.
        tokens: of each choice.
        bytes: of each choice.
        chosen: index of the likeliest choice; of a cloze 0 where it is greedy, else None.
        chosen_per_byte: index of the choice with the largest log-likelihood per byte.
        correct: whether `chosen` is the answer.
        correct_per_byte: whether `chosen_per_byte` is.
    """

    line: int
    context: str
    choices: tuple[str, ...]
    answer: int
    cloze: bool
    weight: float
    logprobs: tuple[float, ...]
    tokens: tuple[int, ...]
    bytes: tuple[int, ...]
    chosen: int | None
    chosen_per_byte: int | None
    correct: bool
    correct_per_byte: bool


@dataclass(frozen=True)
class Accuracy:
    """A weighted share of right answers.

    Attributes:
        items: how many.
        accuracy: sum(w s) / sum(w).
        accuracy_per_byte: the same with log-likelihoods divided by the choices' bytes.
        standard_error: of `accuracy`, sqrt(sum(w² (s - accuracy)²)) / sum(w).
        chance: what guessing would give: 0 for a cloze.
        loss_per_byte: mean of -log p of the right answers, in nats over their bytes.
    """

    items: int
    accuracy: float
    accuracy_per_byte: float
    standard_error: float
    chance: float
    loss_per_byte: float


@dataclass(frozen=True)
class TaskScore:
    """A task set.

    Attributes:
        name, sha256, bad_lines: of the set; the last one how many lines could not be read.
        choice: of its multiple-choice items; None without any.
        cloze: of its clozes; None without any.
        accuracy: of all items.
        seconds: wall time of scoring.
        goodput: G = sum(w s) / (sum(w) t), with t of reading every choice, in score per second.
        items: each.
    """

    name: str
    sha256: str
    bad_lines: int
    choice: Accuracy | None
    cloze: Accuracy | None
    accuracy: float
    seconds: float
    goodput: float
    items: tuple[ItemScore, ...]


async def score_tasks(scorer: Scorer, tasks: TaskSet, tell: Tell = silent) -> TaskScore:
    """Scores every item of a set.

    A choice is right when its log-likelihood after the context is the largest, the first of equal
    ones. A cloze is right when greedy writing would give it: each of its tokens is the likeliest.

    Args:
        scorer: of the model.
        tasks: the set.
        tell: called before each batch.
    """
    pairs = [(item.context, choice) for item in tasks.items for choice in item.choices]
    # Kernels are compiled before the clock starts: goodput is of answers, not of compilers.
    await scorer.compile(pairs)
    started = platform.current().now_ms()
    scored = await scorer.loglikelihood(pairs, tell)
    seconds = (platform.current().now_ms() - started) / 1e3
    items, at = [], 0
    for item in tasks.items:
        items.append(item_score(item, scored[at:at + len(item.choices)]))
        at += len(item.choices)
    return task_score(tasks, items, seconds)


def task_score(tasks: TaskSet, items: Sequence[ItemScore], seconds: float) -> TaskScore:
    """The sums over the items of a set."""
    choices = [item for item in items if not item.cloze]
    clozes = [item for item in items if item.cloze]
    scores, weights = [float(one.correct) for one in items], [one.weight for one in items]
    return TaskScore(
        tasks.name, tasks.sha256, tasks.bad_count, accuracy(choices) if choices else None,
        accuracy(clozes) if clozes else None, accuracy(items).accuracy, seconds,
        goodput(scores, weights, seconds), tuple(items))


def item_score(item: Item, scored: Sequence[Scored]) -> ItemScore:
    """One item, from the scores of its choices."""
    logprobs = tuple(one.logprob for one in scored)
    sizes = tuple(one.bytes for one in scored)
    if item.cloze:
        chosen = per_byte = 0 if scored[0].greedy else None
    else:
        chosen = _largest(logprobs)
        per_byte = _largest([logprob / size
                             for logprob, size in zip(logprobs, sizes, strict=True)])
    return ItemScore(item.line, item.context, item.choices, item.answer, item.cloze, item.weight,
                     logprobs, tuple(one.tokens for one in scored), sizes, chosen, per_byte,
                     chosen == item.answer, per_byte == item.answer)


def accuracy(items: Sequence[ItemScore]) -> Accuracy:
    """Weighted shares over items; at least one."""
    total = math.fsum(one.weight for one in items)
    share = math.fsum(one.weight * one.correct for one in items) / total
    spread = math.fsum((one.weight * (one.correct - share)) ** 2 for one in items)
    return Accuracy(
        len(items), share,
        math.fsum(one.weight * one.correct_per_byte for one in items) / total,
        math.sqrt(spread) / total,
        math.fsum(one.weight / len(one.choices) for one in items if not one.cloze) / total,
        math.fsum(-one.logprobs[one.answer] for one in items)
        / sum(one.bytes[one.answer] for one in items))


def _largest(values: Sequence[float]) -> int:
    """Index of the largest; the first of equal ones."""
    return max(range(len(values)), key=lambda index: values[index])
