"""Trainer: runs a run, step by step, and answers pause, step, stop and save while it does.

States: idle -> running <-> paused, running -> stopping -> idle, and failed. The loop sends pieces
of a few steps to the GPU, at most two at a time, and drains them before anything else happens: a
validation, a sample, a checkpoint, a pause. Where pieces end depends on time; what they compute
does not.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from dataclasses import asdict, dataclass

from tabgrad import platform
from tabgrad.checkpoint.store import RunStore
from tabgrad.errors import Cancelled, DeviceLost, StorageError, TabgradError
from tabgrad.gpu.device import Device
from tabgrad.train.agenda import chunk_steps, is_due, next_stop, pieces_in_flight
from tabgrad.train.clock import Clock
from tabgrad.train.diverged import diverged_in, explain
from tabgrad.train.engine import Builder, Engine
from tabgrad.train.history import History
from tabgrad.train.keeper import Keeper
from tabgrad.train.milestones import Milestones, has
from tabgrad.train.recovery import Recovery, Reopen
from tabgrad.train.reporter import Emit, Reporter
from tabgrad.train.step_settings import StepSettings


@dataclass(frozen=True)
class Piece:
    """Steps that are on the GPU."""

    step: int
    count: int
    result: Awaitable[bytes]


class Trainer:
    """Trains one run to `settings.max_steps`.

    Args:
        device: an open device.
        settings: of the run.
        build: makes the run's engine, on this device and after a loss on the next.
        store: where checkpoints go.
        run: a run of the store; the trainer opens and closes it.
        emit: called with (name, fields) of the events of protocol.json: state, stage, progress,
            validation, answers, sample, checkpoint, notice, done.
        reopen: gives a new device after a loss; without it a loss is an error.
    """

    def __init__(self, device: Device, settings: StepSettings, build: Builder, store: RunStore,
                 run: str, emit: Emit, reopen: Reopen | None = None) -> None:
        self.settings = settings
        self.run_name = run
        self.state = "idle"
        self.step = 0
        self.history = History()
        self.engine: Engine | None = None
        self.problem: TabgradError | None = None
        self._gpu_bytes = 0
        self._device = device
        self._build_engine = build
        self._emit = emit
        self._now_ms = platform.current().now_ms
        self._clock = Clock(self._now_ms)
        self._keeper = Keeper(store, run, settings, self._now_ms)
        self._recovery = Recovery(reopen, self._now_ms, emit)
        self._pause_wanted = self._rested = self._stop_wanted = self._single = False
        self._savers: list[asyncio.Future[int]] = []
        self._wake, self._drained, self._ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._drained.set()
        self._reporter = Reporter(run, settings, self._clock, self._now_ms, emit)
        self._milestones = Milestones(run, settings, emit, lambda: not self._stop_wanted)

    # --- what others ask for ----------------------------------------------------------------

    async def pause(self) -> tuple[str, int]:
        """Lets no further step begin; answers (state, step) once none is on the GPU."""
        if self.state == "running":
            self._pause_wanted = True
            await self._drained.wait()
            if self.state == "running" and self._pause_wanted:
                self._set_state("paused")
        return self.state, self.step

    async def resume(self) -> tuple[str, int]:
        """Goes on after a pause."""
        if self.state == "paused":
            self._pause_wanted = self._rested = False
            self._set_state("running")
            self._wake.set()
        return self.state, self.step

    async def step_once(self) -> tuple[str, int]:
        """Takes one step and is paused again; pauses first where it must."""
        await self.pause()
        if self.state == "paused" and not self._single:
            self._single = True
            self._drained.clear()
            self._wake.set()
            await self._drained.wait()
        return self.state, self.step

    async def stop(self) -> tuple[str, int]:
        """Drains, saves and ends; answers when all is safe."""
        if self.state in ("running", "paused"):
            self._stop_wanted = True
            self._set_state("stopping")
            self._wake.set()
        if self.state == "stopping":
            await self._ended.wait()
        return self.state, self.step

    async def save_now(self) -> int:
        """Saves between two steps; answers the step that is safe on disk."""
        if self.state not in ("running", "paused"):
            return max(0, self._keeper.saved_step)
        saver: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._savers.append(saver)
        self._wake.set()
        return await saver

    # --- the run ----------------------------------------------------------------------------

    async def run(self) -> None:
        """Trains until the last step, a stop, or an error, which it raises.

        Raises:
            RunBusy: another tab or process writes the run.
            TrainingDiverged: the loss is no number any more; the last good checkpoint stays.
            DeviceLost: more often than could be mended.
        """
        try:
            await self._keeper.store.open(self.run_name)
            self._set_state("running")
            await self._run_over_losses()
            self._end("idle")
        except asyncio.CancelledError:
            self._end("idle")
            raise
        except Cancelled:
            self._end("idle")
        except TabgradError as error:
            self.problem = error
            self._end("failed")
            raise
        except Exception as error:
            self.problem = TabgradError("Training stopped by a fault in tabgrad.",
                                        received=f"{type(error).__name__}: {error}")
            self._end("failed")
            raise

    async def _run_over_losses(self) -> None:
        while True:
            try:
                if self.engine is None:
                    await self._build()
                await self._train()
                await self._save()
                return
            except TabgradError as error:
                # On a device that is gone any other failure is only its consequence.
                if not isinstance(error, DeviceLost) and not self._device.lost:
                    await explain(error, self.engine)
                    raise
                self._drained.set()
                self.engine = None
                self._device = await self._recovery.device_after(error, self._keeper.saved_step)

    async def _build(self) -> None:
        start = await self._keeper.load()
        self.step, self.history = start.step, start.history
        self._reporter.go_on(self.history)

        def stage(name: str, done: int, total: int, unit: str) -> None:
            self._emit("stage", {"stage": name, "done": done, "total": total, "unit": unit})
            if self._stop_wanted and unit != "kernels":  # those are under way in the driver
                raise Cancelled("Training was stopped before its first step.")

        self.engine = await self._build_engine(self._device, start.files, stage)
        self._emit("state", {"run": self.run_name, "state": self.state, "step": self.step})
        if self.engine.validation is None and self.settings.eval_steps:
            self._emit("notice", {"code": "no-validation", "message":
                       "This text is too short to hold a part back: there is no validation."})
        # For a fresh run, and for one that was stopped before this step's events were through.
        await self._at_stop()

    async def _train(self) -> None:
        while self.step < self.settings.max_steps:
            await self._answer()
            if self._stop_wanted:
                return
            target = next_stop(self.step, self.settings)
            await self._advance(self.step + 1 if self._single else target)
            self._single = False
            if self.step == target:
                await self._at_stop()

    async def _advance(self, target: int) -> None:
        """Takes steps until `target`, or until somebody asks for something; ends drained."""
        assert self.engine is not None
        flight: deque[Piece] = deque()
        submitted = self.step
        self._drained.clear()
        self._clock.start()
        try:
            while flight or (submitted < target and not self._asked()):
                step_ms = self._device.step_ms([self.engine.step.plan])
                while (submitted < target and len(flight) < pieces_in_flight(step_ms)
                       and not self._asked()):
                    count = min(chunk_steps(step_ms), target - submitted)
                    with self._clock.python():
                        result = self.engine.step.submit(submitted, count)
                    flight.append(Piece(submitted, count, result))
                    submitted += count
                with self._clock.python():  # the data of the next piece, while the GPU works
                    self.engine.step.prepare(submitted, min(chunk_steps(step_ms),
                                                            target - submitted))
                await self._take(flight.popleft())
                # Natively nothing above has let the event loop run.
                await platform.current().pause()
        finally:
            if flight:
                await asyncio.gather(*(_settled(piece.result) for piece in flight))
            self._drained.set()
        self._reporter.report(self.step, self.history, at_once=True)

    async def _take(self, piece: Piece) -> None:
        assert self.engine is not None
        data = await piece.result
        with self._clock.python():
            for measured in self.engine.step.read(piece.step, data):
                if not measured.is_finite:
                    raise diverged_in(measured, self._keeper.saved_step)
                self.step = measured.step
                if is_due(measured.step, self.settings.logging_steps) or measured.step == 1:
                    self.history.add(**asdict(measured))
            self._reporter.report(self.step, self.history)
        self._clock.steps(piece.count)

    def _asked(self) -> bool:
        """Whether the GPU should be drained before the next stop of the agenda."""
        return ((self._pause_wanted and not self._single) or self._stop_wanted
                or bool(self._savers) or self._keeper.is_due(self.step))

    async def _answer(self) -> None:
        """Does what was asked for, now that no step is in flight."""
        await self._save_if_asked()
        if self._pause_wanted and not self._rested and not self._stop_wanted:
            self._rested = True         # once a pause, not after every single step in it
            await self._save()
        while self._pause_wanted and not self._single and not self._stop_wanted:
            await self._wake.wait()
            self._wake.clear()
            await self._save_if_asked()

    async def _at_stop(self) -> None:
        """What the agenda says for this step; a stop cuts it short."""
        assert self.engine is not None
        await self._milestones.reach(self.engine, self.step, self.history,
                                     self._keeper.saved_step)
        self._gpu_bytes = max(self._gpu_bytes, self._device.gpu.counters()["bytes"])
        if is_due(self.step, self.settings.save_steps):
            await self._save()

    # --- saving -----------------------------------------------------------------------------

    async def _save_if_asked(self) -> None:
        savers, self._savers = self._savers, []
        if not savers and not self._keeper.is_due(self.step):
            return
        try:
            problem = await self._save()
        except BaseException:
            self._savers = savers + self._savers
            raise
        for saver in savers:
            if not saver.done() and problem is None:
                saver.set_result(self.step)
            elif not saver.done() and problem is not None:
                saver.set_exception(problem)

    async def _save(self) -> StorageError | None:
        """Saves this step. A full disk is said, and training goes on."""
        assert self.engine is not None
        try:
            manifest = await self._keeper.save(self.engine, self.step, self.history)
        except StorageError as error:
            self._emit("notice", {"code": "save-failed", "message":
                       f"Step {self.step} could not be saved. {error}"})
            return error
        if manifest is not None:
            seen = self.history.validation
            best = has(seen, self.step) and seen[-1] == min(seen, key=lambda at: at["loss"])
            self._emit("checkpoint", {"run": self.run_name, "step": self.step,
                                      "bytes": manifest.total_bytes, "best": best})
        return None

    # --- telling ----------------------------------------------------------------------------

    def _set_state(self, state: str) -> None:
        self.state = state
        self._emit("state", {"run": self.run_name, "state": state, "step": self.step,
                             "problem": self.problem.problem() if self.problem else None})

    def _end(self, state: str) -> None:
        self._keeper.store.close(self.run_name)
        self.engine = None
        self._set_state(state)
        for saver in self._savers:
            if not saver.done():
                saver.set_result(max(0, self._keeper.saved_step))
        self._savers = []
        self._drained.set()
        self._ended.set()
        if state == "idle":
            self._emit("done", {"run": self.run_name, "step": self.step,
                                "loss": self.history.last_loss,
                                "validation_loss": self.history.last_validation,
                                "gpu_bytes": self._gpu_bytes})


async def _settled(result: Awaitable[bytes]) -> None:
    """Waits for a piece that no longer counts: another one has already failed the run."""
    try:
        await result
    except TabgradError:
        return
