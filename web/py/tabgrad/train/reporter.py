"""Tells the page how training goes, a few times a second at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tabgrad.train.clock import Clock
from tabgrad.train.history import History
from tabgrad.train.step_settings import StepSettings

Emit = Callable[[str, dict[str, Any]], None]

PROGRESS_MS = 80.0


class Reporter:
    """Sends `progress` events with every point once.

    Args:
        run: its name.
        settings: of the run.
        clock: how long steps take.
        now_ms: a clock that never goes back.
        emit: called with ("progress", fields).
    """

    def __init__(self, run: str, settings: StepSettings, clock: Clock,
                 now_ms: Callable[[], float], emit: Emit) -> None:
        self._run = run
        self._settings = settings
        self._clock = clock
        self._now_ms = now_ms
        self._emit = emit
        self._points = 0
        self._at = 0.0

    def go_on(self, history: History) -> None:
        """What the history holds now is known to the page."""
        self._points = len(history)

    def report(self, step: int, history: History, at_once: bool = False) -> None:
        """Sends the new points, unless the last message was a moment ago."""
        now = self._now_ms()
        if len(history) == self._points or (not at_once and now - self._at < PROGRESS_MS):
            return
        step_ms = self._clock.step_ms
        seconds = step_ms / 1000.0
        self._emit("progress", {
            "run": self._run, "step": step, "max_steps": self._settings.max_steps,
            "points": list(history.points(self._points)),
            "tokens_per_second": self._settings.tokens_per_step / seconds if seconds else 0.0,
            "step_ms": step_ms, "python_ms": self._clock.python_ms,
            "seconds_left": seconds * (self._settings.max_steps - step)})
        self._points = len(history)
        self._at = now
