"""How fast training goes, and how much of that time Python takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_MEMORY = 0.8


class Clock:
    """Smoothed milliseconds of a step, and of Python's part of it.

    Args:
        now_ms: a clock that never goes back.

    Example:
        >>> ticks = iter([0.0, 2.0, 3.0, 13.0])
        >>> clock = Clock(lambda: next(ticks))
        >>> with clock.python():
        ...     pass
        >>> clock.start()
        >>> clock.steps(2)
        >>> clock.step_ms, clock.python_ms
        (5.0, 1.0)
    """

    def __init__(self, now_ms: Callable[[], float]) -> None:
        self._now_ms = now_ms
        self._python = 0.0
        self._mark = 0.0
        self.step_ms = 0.0
        self.python_ms = 0.0

    @contextmanager
    def python(self) -> Iterator[None]:
        """Counts the time inside as Python's."""
        started = self._now_ms()
        try:
            yield
        finally:
            self._python += self._now_ms() - started

    def start(self) -> None:
        """Steps count from now: call it whenever the GPU was left idle for another reason."""
        self._mark = self._now_ms()

    def steps(self, count: int) -> None:
        """Takes the time since the last call as that of `count` steps."""
        now = self._now_ms()
        self.step_ms = self._smooth(self.step_ms, (now - self._mark) / count)
        self.python_ms = self._smooth(self.python_ms, self._python / count)
        self._mark, self._python = now, 0.0

    @staticmethod
    def _smooth(old: float, new: float) -> float:
        return new if old == 0.0 else _MEMORY * old + (1.0 - _MEMORY) * new
