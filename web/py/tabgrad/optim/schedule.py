"""Learning rates by step: a linear warm-up, then constant, or one of three ways down.

With `min_ratio` 0 they are Hugging Face's `get_cosine_schedule_with_warmup`,
`get_linear_schedule_with_warmup`, `get_constant_schedule_with_warmup` and `get_wsd_schedule`.
Steps count from 0, so that the first step of a warm-up has the rate 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Schedule = Callable[[int, float, int, int, float], float]

DECAY_PART = 5  # WSD decays in the last fifth of the steps


def _warmup(step: int, warmup_steps: int) -> float:
    return step / max(1, warmup_steps)


def _progress(step: int, warmup_steps: int, max_steps: int) -> float:
    """The part of the decay that is done, 0 to 1."""
    return min(1.0, (step - warmup_steps) / max(1, max_steps - warmup_steps))


def cosine_with_warmup(step: int, learning_rate: float, warmup_steps: int, max_steps: int,
                       min_ratio: float = 0.0) -> float:
    """Half a cosine from `learning_rate` down to `min_ratio * learning_rate`.

    Args:
        step: from 0.
        learning_rate: the peak.
        warmup_steps: steps of linear rise from 0.
        max_steps: where the decay ends; later steps keep the lowest rate.
        min_ratio: the lowest rate over the peak.

    Example:
        >>> [round(cosine_with_warmup(s, 1.0, 2, 6, 0.0), 3) for s in range(7)]
        [0.0, 0.5, 1.0, 0.854, 0.5, 0.146, 0.0]
    """
    if step < warmup_steps:
        return learning_rate * _warmup(step, warmup_steps)
    fall = 0.5 * (1.0 + math.cos(math.pi * _progress(step, warmup_steps, max_steps)))
    return learning_rate * (min_ratio + (1.0 - min_ratio) * fall)


def linear_with_warmup(step: int, learning_rate: float, warmup_steps: int, max_steps: int,
                       min_ratio: float = 0.0) -> float:
    """A straight line from `learning_rate` down to `min_ratio * learning_rate`.

    Example:
        >>> [round(linear_with_warmup(s, 1.0, 2, 6), 3) for s in range(7)]
        [0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0]
    """
    if step < warmup_steps:
        return learning_rate * _warmup(step, warmup_steps)
    fall = 1.0 - _progress(step, warmup_steps, max_steps)
    return learning_rate * (min_ratio + (1.0 - min_ratio) * fall)


def constant(step: int, learning_rate: float, warmup_steps: int, max_steps: int,
             min_ratio: float = 0.0) -> float:
    """`learning_rate` after the warm-up; `max_steps` and `min_ratio` change nothing.

    Example:
        >>> [constant(s, 1.0, 2, 6) for s in range(4)]
        [0.0, 0.5, 1.0, 1.0]
    """
    return learning_rate * (_warmup(step, warmup_steps) if step < warmup_steps else 1.0)


def warmup_stable_decay(step: int, learning_rate: float, warmup_steps: int, max_steps: int,
                        min_ratio: float = 0.0) -> float:
    """`learning_rate` until the last fifth of the steps, then half a cosine down (WSD).

    Until the decay begins no rate depends on `max_steps`, so a run can be made longer there.
    `get_wsd_schedule` with `num_decay_steps = max_steps // 5` (less where the warm-up leaves less).

    Source: Hu et al., "MiniCPM", 2024; a fifth, from Hägele et al., "Scaling laws and
    compute-optimal training beyond fixed training durations", 2024.

    Example:
        >>> [round(warmup_stable_decay(s, 1.0, 2, 20), 3) for s in (0, 1, 2, 15, 16, 18, 20)]
        [0.0, 0.5, 1.0, 1.0, 1.0, 0.5, 0.0]
    """
    begin = max(warmup_steps, max_steps - max_steps // DECAY_PART)
    if warmup_steps <= step < begin:
        return learning_rate
    if step < warmup_steps:
        return learning_rate * _warmup(step, warmup_steps)
    return cosine_with_warmup(step, learning_rate, begin, max_steps, min_ratio)


# Transformers' names. Its "constant" has no warm-up; ours has as much as `warmup_steps` says.
SCHEDULES: dict[str, Schedule] = {
    "cosine": cosine_with_warmup, "linear": linear_with_warmup, "constant": constant,
    "constant_with_warmup": constant, "warmup_stable_decay": warmup_stable_decay}
