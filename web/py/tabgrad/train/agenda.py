"""What is due at which step, and how many steps go to the GPU at once.

Pure functions of the settings and of measured time. They choose where work is cut into pieces,
never what is computed: a step's arithmetic does not depend on the piece that it is in.
"""

from __future__ import annotations

from tabgrad.train.step_settings import StepSettings

CHUNK_MS = 100.0
CHUNK_STEPS = 128
# Two pieces may be in flight while both end within a step and a quarter of a second.
ANSWER_MS = 250.0


def is_due(step: int, every: int) -> bool:
    """Whether something that happens every so many steps happens after `step` steps.

    Example:
        >>> [step for step in range(7) if is_due(step, 3)], is_due(4, 0)
        ([0, 3, 6], False)
    """
    return every > 0 and step % every == 0


def next_stop(step: int, settings: StepSettings) -> int:
    """The first step after `step` at which the GPU must be drained.

    Example:
        >>> settings = StepSettings(eval_steps=30, sample_steps=0, save_steps=50, max_steps=70)
        >>> [next_stop(step, settings) for step in (0, 30, 31, 50, 60)]
        [30, 50, 50, 60, 70]
    """
    periods = (settings.eval_steps, settings.sample_steps, settings.save_steps)
    stops = [(step // every + 1) * every for every in periods if every > 0]
    return min([*stops, max(settings.max_steps, step + 1)])


def chunk_steps(step_ms: float | None) -> int:
    """Steps that go to the GPU as one piece: near 100 ms of work, one until it is measured.

    Example:
        >>> [chunk_steps(ms) for ms in (None, 1100.0, 30.0, 0.1)]
        [1, 1, 3, 128]
    """
    if step_ms is None or step_ms <= 0:
        return 1
    return max(1, min(CHUNK_STEPS, int(CHUNK_MS / step_ms)))


def pieces_in_flight(step_ms: float | None) -> int:
    """How many pieces may be submitted and not awaited.

    Two keep the GPU busy while Python works. When a step is so slow that a pause would have to
    wait for two of them, one: then Python's share is a small part of a step anyway.

    Example:
        >>> [pieces_in_flight(ms) for ms in (None, 1.0, 200.0, 300.0)]
        [1, 2, 2, 1]
    """
    if step_ms is None:
        return 1
    return 2 if 2 * chunk_steps(step_ms) * step_ms <= step_ms + ANSWER_MS else 1
