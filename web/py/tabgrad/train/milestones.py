"""What the agenda asks for between steps: a validation, answers to prompts, a sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tabgrad.train.agenda import is_due
from tabgrad.train.diverged import TrainingDiverged
from tabgrad.train.engine import Engine
from tabgrad.train.history import History
from tabgrad.train.reporter import Emit
from tabgrad.train.step_settings import StepSettings


class Milestones:
    """Does what is due at a step, and keeps it in the history.

    Args:
        run: its name.
        settings: of the run.
        emit: told of each result.
        go_on: asked on the way; False cuts it short.
    """

    def __init__(self, run: str, settings: StepSettings, emit: Emit,
                 go_on: Callable[[], bool]) -> None:
        self._run, self._settings, self._emit, self._go_on = run, settings, emit, go_on

    async def reach(self, engine: Engine, step: int, history: History, saved_step: int) -> None:
        """What is due at `step` and has not been done; no step is in flight.

        Args:
            engine: of the run.
            step: optimiser steps done.
            history: of the run, added to.
            saved_step: the last good checkpoint, for an error.

        Raises:
            TrainingDiverged: the validation loss is no number.
        """
        if self._due(step, self._settings.eval_steps):
            await self._validate(engine, step, history, saved_step)
            await self._answer(engine, step, history)
        if self._due(step, self._settings.sample_steps) and not has(history.samples, step):
            text = await engine.sample(self._go_on)
            if text is not None:
                self._keep("sample", history.samples, {"step": step, "text": text})

    async def _validate(self, engine: Engine, step: int, history: History,
                        saved_step: int) -> None:
        if engine.validation is None or has(history.validation, step):
            return
        loss = await engine.validation.measure(self._go_on)
        if loss is None:
            return
        if not math.isfinite(loss):
            raise TrainingDiverged(step, f"the validation loss is {loss}", saved_step)
        point = {"step": step, "loss": loss}
        bits = engine.bits_per_byte(loss)
        if bits is not None:
            point["bits_per_byte"] = bits
        history.validation.append(point)
        self._emit("validation", {"run": self._run, "point": point})

    async def _answer(self, engine: Engine, step: int, history: History) -> None:
        if has(history.answers, step):
            return
        answers = await engine.answers(self._go_on)
        if answers:
            self._keep("answers", history.answers, {"step": step, "answers": answers})

    def _keep(self, name: str, events: list[dict[str, Any]], event: dict[str, Any]) -> None:
        events.append(event)
        self._emit(name, {"run": self._run, name: event})

    def _due(self, step: int, every: int) -> bool:
        return every > 0 and (is_due(step, every) or step >= self._settings.max_steps)


def has(events: list[dict[str, Any]], step: int) -> bool:
    """Whether the newest event is of that step.

    Example:
        >>> has([{"step": 3}], 3), has([], 0)
        (True, False)
    """
    return bool(events) and events[-1]["step"] == step
