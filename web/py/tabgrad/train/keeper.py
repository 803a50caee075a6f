"""Saves a run's checkpoints and finds the one to go on from."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tabgrad.checkpoint.folder import read_state
from tabgrad.checkpoint.manifest import Manifest, Summary
from tabgrad.checkpoint.store import RunStore
from tabgrad.errors import CheckpointError
from tabgrad.gpu import autotune
from tabgrad.train.diverged import TrainingDiverged, name_not_finite
from tabgrad.train.engine import Engine
from tabgrad.train.history import History
from tabgrad.train.step_settings import StepSettings

AUTOSAVE_MS = 30_000.0


@dataclass(frozen=True)
class Start:
    """Where a run goes on: `files` of its checkpoint, or None and step 0 for a fresh one."""

    step: int
    history: History
    files: Mapping[str, bytes] | None


class Keeper:
    """Knows which step is safe on disk, and when the next save is due by time.

    Args:
        store: where; the run must be open in it before `save`.
        run: which.
        settings: kept in each checkpoint beside the step.
        now_ms: a clock that never goes back.
    """

    def __init__(self, store: RunStore, run: str, settings: StepSettings,
                 now_ms: Callable[[], float]) -> None:
        self.store = store
        self.run = run
        self.settings = settings
        self.saved_step = -1
        self._now_ms = now_ms
        self._saved_at = now_ms()

    async def load(self) -> Start:
        """The newest checkpoint whose checksums are right, or a fresh start."""
        loaded = await self.store.load(self.run)
        self._saved_at = self._now_ms()
        if loaded is None:
            self.saved_step = -1
            return Start(0, History(), None)
        state = read_state(loaded.files)
        step = state.get("step")
        if step != loaded.summary.step:
            raise CheckpointError("state.json is of another step than its manifest.",
                                  expected=str(loaded.summary.step), received=str(step))
        self.saved_step = loaded.summary.step
        history = History.from_dict(state.get("history", {}))
        return Start(self.saved_step, history, loaded.files)

    def is_due(self, step: int) -> bool:
        """Whether so much time has passed that unsaved steps should be saved."""
        return step != self.saved_step and self._now_ms() - self._saved_at > AUTOSAVE_MS

    async def save(self, engine: Engine, step: int, history: History) -> Manifest | None:
        """Writes a checkpoint of `step`; None when that step is safe already.

        Raises:
            StorageError: the files cannot be written.
            TrainingDiverged: a weight is no number; the last good checkpoint stays.
        """
        if step == self.saved_step:
            return None
        state: dict[str, Any] = {
            "step": step, "seed": self.settings.seed, "settings": self.settings.to_dict(),
            # Batches and samples are pure functions of the seed and these counters.
            "data_cursor": step * self.settings.gradient_accumulation_steps,
            "tokens": step * self.settings.tokens_per_step, "history": history.to_dict(),
            "kernels": autotune.choices(engine.device.info)}
        snapshot = await engine.checkpoint(state)
        broken = name_not_finite(snapshot.weights)
        if broken is not None:
            raise TrainingDiverged(step, f"a weight is no number: {broken}", self.saved_step)
        summary = Summary(step, time.time(), history.last_loss, history.last_validation)
        try:
            manifest = await self.store.save(self.run, summary, snapshot.files)
        finally:
            # After a failure too: a full disk is tried again in a while, not at every step.
            self._saved_at = self._now_ms()
        self.saved_step = step
        return manifest
