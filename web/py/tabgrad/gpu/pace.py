"""How long a step takes, and in how many submissions it should go."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any

ONE_SUBMISSION_MS = 250.0
"""Up to this a step goes in one submission: the page keeps painting meanwhile."""
TWO_SUBMISSIONS_MS = 1000.0
"""Up to this it goes in two: the page paints between them, and none nears a watchdog's 2 s."""
SUBMISSION_MS = 500.0
"""A longer step goes in pieces of this."""
FIRST_DISPATCHES = 128
"""Before anything is measured a submission holds about this many launches."""


class Pace:
    """Remembers the milliseconds of a step, by plans."""

    def __init__(self, now_ms: Callable[[], float]) -> None:
        self._now_ms = now_ms
        self._steps: dict[Sequence[int], float] = {}
        self._last_end = 0.0

    def start(self) -> float:
        """The time at which work is submitted."""
        return self._now_ms()

    def finish(self, plans: Sequence[int], steps: int, started: float) -> None:
        """Takes the time of `steps` steps that are through now.

        Work that was submitted behind other work began when that ended.
        """
        end = self._now_ms()
        self._steps[plans] = (end - max(started, self._last_end)) / steps
        self._last_end = end

    def step_ms(self, plans: Sequence[int]) -> float | None:
        """The last measured milliseconds of a step."""
        return self._steps.get(plans)

    def parts(self, plans: Sequence[int], dispatches: int) -> int:
        """Command buffers for one step.

        Example:
            >>> pace = Pace(lambda: 600.0)
            >>> pace.parts((1,), 300)
            3
            >>> pace.finish((1,), 1, 0.0)
            >>> pace.parts((1,), 300)
            2
            >>> pace.finish((1,), 6, 0.0)
            >>> pace.parts((1,), 300)
            1
        """
        measured = self._steps.get(plans)
        if measured is None:
            return max(1, math.ceil(dispatches / FIRST_DISPATCHES))
        if measured <= ONE_SUBMISSION_MS:
            return 1
        return 2 if measured <= TWO_SUBMISSIONS_MS else math.ceil(measured / SUBMISSION_MS)


class PacedReplay:
    """A replay's awaitable, which tells the pace when it is through."""

    def __init__(self, result: Awaitable[bytes], pace: Pace, plans: Sequence[int], steps: int,
                 started: float) -> None:
        self._result = result
        self._pace = pace
        self._plans = plans
        self._steps = steps
        self._started = started

    def __await__(self) -> Generator[Any, None, bytes]:
        data = yield from self._result.__await__()
        self._pace.finish(self._plans, self._steps, self._started)
        return data
