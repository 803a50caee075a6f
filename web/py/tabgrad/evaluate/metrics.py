"""The numbers of an evaluation by name: one list for tables, plots and comparisons."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tabgrad.evaluate.conditions import Condition, Conditions
from tabgrad.evaluate.goodput import Speed
from tabgrad.evaluate.memorisation import Memorised
from tabgrad.evaluate.perplexity import TextScore
from tabgrad.evaluate.task_scores import Accuracy, TaskScore

MORE, LESS, NEITHER = "more", "less", "neither"


@dataclass(frozen=True)
class Metric:
    """A number.

    Args:
        name: what it is.
        value: of it; NaN where there is none.
        unit: in words; empty for a share.
        better: "more", "less" or "neither".
    """

    name: str
    value: float
    unit: str
    better: str

    @property
    def shown(self) -> str:
        """Rounded for a reader.

        Example:
            >>> Metric("loss", 2.34567, "nats", LESS).shown, Metric("n", 1234567.0, "", MORE).shown
            ('2.346', '1,234,567')
        """
        if not math.isfinite(self.value):
            return "-"
        if self.value == int(self.value) and abs(self.value) >= 10:
            return f"{int(self.value):,}"
        return f"{self.value:.4g}"


def metrics_of(score: TextScore | TaskScore | Conditions | Memorised,
               speed: Speed | None) -> list[Metric]:
    """The numbers of a score, the most important first; those of writing last."""
    if isinstance(score, TextScore):
        found = _text(score)
    elif isinstance(score, TaskScore):
        found = _tasks(score)
    elif isinstance(score, Conditions):
        found = [metric for one in score.conditions for metric in _condition(one)]
    else:
        found = _memorised(score)
    return found + (_speed(speed, "writing: ", goodput=False) if speed else [])


def _text(score: TextScore) -> list[Metric]:
    return [Metric("bits per byte", score.bits_per_byte, "bits", LESS),
            Metric("loss", score.loss, "nats a token", LESS),
            Metric("perplexity", score.perplexity, "", LESS),
            Metric("tokens", score.tokens, "scored", NEITHER),
            Metric("bytes", score.bytes, "scored", NEITHER),
            Metric("context length", score.context_length, "tokens", NEITHER),
            Metric("overlap", score.overlap, "tokens", NEITHER)]


def _tasks(score: TaskScore) -> list[Metric]:
    found = [Metric("accuracy", score.accuracy, "", MORE)]
    for name, one in (("choices", score.choice), ("cloze", score.cloze)):
        if one is not None:
            found += _accuracy(name, one)
    return [*found, Metric("goodput", score.goodput, "score a second", MORE),
            Metric("time", score.seconds, "seconds", LESS)]


def _accuracy(name: str, one: Accuracy) -> list[Metric]:
    found = [Metric(f"{name}: items", one.items, "", NEITHER),
             Metric(f"{name}: accuracy", one.accuracy, "", MORE),
             Metric(f"{name}: standard error", one.standard_error, "", NEITHER)]
    if one.chance:
        found += [Metric(f"{name}: accuracy per byte", one.accuracy_per_byte, "", MORE),
                  Metric(f"{name}: by chance", one.chance, "", NEITHER)]
    return [*found, Metric(f"{name}: loss of the right answer", one.loss_per_byte, "nats a byte",
                           LESS)]


def _condition(one: Condition) -> list[Metric]:
    return [Metric(f"{one.name}: exact", one.exact, "", MORE),
            Metric(f"{one.name}: loss of the right answer", one.loss_per_byte, "nats a byte",
                   LESS),
            *_speed(one.speed, f"{one.name}: ", goodput=True)]


def _speed(one: Speed, prefix: str, *, goodput: bool) -> list[Metric]:
    found = [Metric(f"{prefix}goodput", one.goodput, "score a second", MORE)] if goodput else []
    return [*found, Metric(f"{prefix}bandwidth", one.kilobytes_per_second, "KB/s", MORE),
            Metric(f"{prefix}tokens", one.tokens_per_second, "a second", MORE),
            Metric(f"{prefix}first token", one.first_token_ms, "ms", LESS)]


def _memorised(score: Memorised) -> list[Metric]:
    return [Metric("longest verbatim continuation", score.longest, "characters", NEITHER),
            Metric("the same in tokens", score.longest_tokens, "tokens", NEITHER),
            Metric("longest part found anywhere", score.longest_found, "characters", NEITHER),
            Metric("mean verbatim continuation", score.mean, "characters", NEITHER),
            Metric("copied", score.copied, "share of prefixes with 50 characters or more", NEITHER),
            Metric("prefixes", len(score.continuations), "", NEITHER)]
