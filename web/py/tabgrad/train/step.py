"""The plan of one optimiser step, the data it is fed, and the numbers it gives back."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabgrad.data.source import BatchSource
from tabgrad.gpu.device import Device
from tabgrad.gpu.plan import Plan
from tabgrad.gpu.recording import Recording
from tabgrad.gpu.storage import Region
from tabgrad.gpu.variants import Product, collecting
from tabgrad.nn.arena import ParameterArena
from tabgrad.optim.optimizer import Optimizer
from tabgrad.tensor import ITEM_BYTES, Tensor
from tabgrad.train.feed import Feed, Inputs
from tabgrad.train.step_settings import StepSettings

Progress: TypeAlias = Callable[[int, int], None]
Loss: TypeAlias = Callable[[Inputs], Tensor]
"""Records the loss () of one micro-batch."""

_NORM_WORDS = 2  # norm of the gradients, and the factor that clipping used


@dataclass(frozen=True)
class Measured:
    """What one step measured.

    Args:
        step: optimiser steps done, so the first step is 1.
        loss: mean cross-entropy of its targets that count, in nats per token (per byte, for a
            preset that reads bytes), before the update.
        learning_rate: that the update used.
        grad_norm: norm of all gradients before clipping.
    """

    step: int
    loss: float
    learning_rate: float
    grad_norm: float

    @property
    def is_finite(self) -> bool:
        """Whether training can go on from it."""
        return math.isfinite(self.loss) and math.isfinite(self.grad_norm)


class TrainStep:
    """One optimiser step, recorded once.

    A step's data is one piece of bytes, written to one feed. The plan clears the gradients, adds up
    those of the micro-batches, updates the weights, and leaves losses and norm in one region.

    Args:
        arena: what is trained.
        loss: records the loss of one micro-batch.
        source: of the batches.
        settings: batch, context, accumulation, schedule.
        optimizer: over the arena.
        masked: whether some targets of the source do not count. Then each is weighted by
            1 / (those that count in the whole step), and the losses of the micro-batches add up;
            else each micro-batch gives a mean, and these are averaged.
        dropout: whether the loss reads a seed.
    """

    def __init__(self, arena: ParameterArena, loss: Loss, source: BatchSource,
                 settings: StepSettings, optimizer: Optimizer, *, masked: bool = False,
                 dropout: bool = False) -> None:
        self.device: Device = arena.device
        self.arena = arena
        self.settings = settings
        self.optimizer = optimizer
        self.masked = masked
        self.feed = Feed(self.device, settings, source, masked=masked, dropout=dropout)
        self._loss = loss
        self._micro_batches = settings.gradient_accumulation_steps
        self.measured: Region = self.device.allocate(
            (_NORM_WORDS + self._micro_batches) * ITEM_BYTES, "losses and norm").region
        self._plan: Plan | None = None
        self._ready: dict[int, NDArray[np.uint32]] = {}

    @property
    def plan(self) -> Plan:
        """The compiled plan."""
        assert self._plan is not None, "compile first"
        return self._plan

    async def compile(self, progress: Progress | None = None) -> None:
        """Records the step and makes its plan."""
        self._plan = await self.record().compile(outputs=[], label="train step",
                                                 progress=progress)

    def products(self) -> list[Product]:
        """The matrix products of a step; nothing is compiled."""
        with collecting() as products:
            self.record().tape.let_go()
        return products

    def record(self) -> Recording:
        """The launches of one step."""
        count = self._micro_batches
        with self.device.recording() as tape:
            self.arena.clear_gradients()
            for micro in range(count):
                loss = self._loss(self.feed.inputs(micro))                   # ()
                loss.backward()
                self.device.copy(loss.region, self._measured(micro, 1))
            self.optimizer.record_update(self.feed.part("scalars"), self._measured(0, count))
            self.device.copy(self.optimizer.norm, self._measured(count, _NORM_WORDS))
        return tape

    def prepare(self, step: int, count: int) -> None:
        """Makes the data of steps that will be submitted next, while the GPU works."""
        wanted = range(step, step + count)
        self._ready = {each: self._ready[each] if each in self._ready else self.data(each)
                       for each in wanted}

    def submit(self, step: int, count: int) -> Awaitable[bytes]:
        """Sends optimiser steps `step` to `step + count - 1` (from 0) to the GPU."""
        pieces = []
        for each in range(step, step + count):
            ready = self._ready.pop(each, None)
            pieces.append(self.data(each) if ready is None else ready)
        return self.device.replay([self.plan], feed=self.feed.region,
                                  data=np.concatenate(pieces).tobytes(), steps=count,
                                  readback=self.measured)

    def data(self, step: int) -> NDArray[np.uint32]:
        """The words that one step is fed; the same for the same step, always."""
        scale = 1.0 if self.masked else 1.0 / self._micro_batches
        return self.feed.words(step, self.optimizer.scalars(step, self.settings.rate(step), scale))

    def read(self, step: int, data: bytes) -> list[Measured]:
        """The numbers of the steps that `submit(step, ...)` gave back."""
        rows = np.frombuffer(data, np.float32).reshape(-1, self._micro_batches + _NORM_WORDS)
        reduce = np.sum if self.masked else np.mean
        return [Measured(step + i + 1,
                         float(reduce(row[:self._micro_batches], dtype=np.float64)),
                         self.settings.rate(step + i), float(row[self._micro_batches]))
                for i, row in enumerate(rows)]

    def _measured(self, start: int, count: int) -> Region:
        return self.measured.part(start * ITEM_BYTES, count * ITEM_BYTES)
