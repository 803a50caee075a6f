"""What answers cost: goodput, bandwidth, and the usual rates beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabgrad.generate.session import Usage


@dataclass(frozen=True)
class Speed:
    """Rates of one model under one condition.

    Attributes:
        seconds: wall time of all answers.
        goodput: G, weighted score per second.
        tokens_per_second: written, the first token of each answer not counted; 0 where every
            answer is one token.
        first_token_ms: mean time from a prompt to the first token of its answer.
        kilobytes_per_second: B, bytes of text written over the time of writing; 1 KB is 1000.
        tokens: written.
        bytes: of the text written.
    """

    seconds: float
    goodput: float
    tokens_per_second: float
    first_token_ms: float
    kilobytes_per_second: float
    tokens: int
    bytes: int


def goodput(scores: Sequence[float], weights: Sequence[float], seconds: float) -> float:
    """G = sum(w s) / (sum(w) t), in score per second.

    Args:
        scores: s, each between 0 and 1.
        weights: w, each above 0.
        seconds: t, the wall time of all together.

    Source: Jin, "Intelligence goodput", 2025: the score of benchmarks over the time that their
    answers took, so that slow or long-winded answers count for less.

    Example:
        >>> goodput([1, 0, 1], [1, 1, 2], 1.5)
        0.5
        >>> goodput([], [], 0.0)
        0.0
    """
    total = sum(weights)
    if total <= 0 or seconds <= 0:
        return 0.0
    return sum(w * s for w, s in zip(weights, scores, strict=True)) / (total * seconds)


def speed(usages: Sequence[Usage], texts: Sequence[str], scores: Sequence[float],
          weights: Sequence[float]) -> Speed:
    """The rates of several answers.

    Args:
        usages: what each answer cost.
        texts: what each is.
        scores: how good each is, 0 to 1.
        weights: how much each counts.
    """
    seconds = sum(one.first_token_ms + one.decode_ms for one in usages) / 1e3
    decoding = sum(one.decode_ms for one in usages) / 1e3
    written = sum(one.completion_tokens for one in usages)
    after_first = sum(max(one.completion_tokens - 1, 0) for one in usages)
    size = sum(len(text.encode()) for text in texts)
    return Speed(seconds, goodput(scores, weights, seconds),
                 after_first / decoding if decoding else 0.0,
                 sum(one.first_token_ms for one in usages) / len(usages) if usages else 0.0,
                 size / 1e3 / seconds if seconds else 0.0, written, size)
