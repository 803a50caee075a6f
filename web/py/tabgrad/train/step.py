"""The plan of one optimiser step, the data it is fed, and the numbers it gives back."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad.gpu.device import Device
from tabgrad.gpu.plan import Plan
from tabgrad.gpu.recording import Recording
from tabgrad.gpu.storage import Region
from tabgrad.gpu.variants import Product, collecting
from tabgrad.models.decoder import Decoder
from tabgrad.optim.optimizer import SCALARS
from tabgrad.platform.gpu_protocol import ALIGNMENT
from tabgrad.tensor import ITEM_BYTES, Tensor
from tabgrad.text.batches import batch
from tabgrad.text.corpus import Units
from tabgrad.train.optimizers import make_optimizer
from tabgrad.train.settings import TrainSettings

Progress = Callable[[int, int], None]

_NORM_WORDS = 2  # norm of the gradients, and the factor that clipping used


@dataclass(frozen=True)
class Measured:
    """What one step measured.

    Args:
        step: optimiser steps done, so the first step is 1.
        loss: mean cross-entropy of its windows in nats per byte (per token, for a preset that
            reads tokens), before the update.
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

    A step's data (scalars, then ids and targets of each micro-batch) is one piece of bytes, each
    part at a multiple of 256, written to one feed. The plan clears the gradients, adds up those
    of the micro-batches, updates the weights, and leaves losses and gradient norm in one region.

    Args:
        decoder: with gradients.
        settings: batch, context, accumulation, optimiser.
        part: (n,) uint8 or uint16, the training part of the text.
    """

    def __init__(self, decoder: Decoder, settings: TrainSettings, part: Units) -> None:
        self.device: Device = decoder.arena.device
        self.decoder = decoder
        self.settings = settings
        self.part = part
        self.optimizer = make_optimizer(decoder, settings)
        micro_batches = settings.gradient_accumulation_steps
        rows, columns = settings.per_device_train_batch_size, settings.context_length
        self._ids_words = _aligned_words(rows * columns)
        self._scalar_words = _aligned_words(SCALARS)
        self._words = self._scalar_words + 2 * micro_batches * self._ids_words
        self.feed = self._room(self._words, "feed of a step")
        self.measured = self._room(_NORM_WORDS + micro_batches, "losses and norm")
        self._plan: Plan | None = None

    @property
    def plan(self) -> Plan:
        """The compiled plan."""
        assert self._plan is not None, "compile first"
        return self._plan

    async def compile(self, progress: Progress | None = None) -> None:
        """Records the step and makes its plan."""
        self._plan = await self._record().compile(outputs=[], label="train step",
                                                  progress=progress)

    def products(self) -> list[Product]:
        """The matrix products of a step; nothing is compiled."""
        with collecting() as products:
            self._record().tape.let_go()
        return products

    def _record(self) -> Recording:
        arena = self.decoder.arena
        micro_batches = self.settings.gradient_accumulation_steps
        with self.device.recording() as tape:
            arena.clear_gradients()
            for micro in range(micro_batches):
                ids, targets = self._ids(micro, 0), self._ids(micro, 1)      # (B, T) each
                loss = self.decoder.loss(ids, targets)                       # ()
                loss.backward()
                self.device.copy(loss.region, self._part(self.measured, micro, 1))
            losses = self._part(self.measured, 0, micro_batches)
            self.optimizer.record_update(self._part(self.feed, 0, SCALARS), losses)
            self.device.copy(self.optimizer.norm,
                             self._part(self.measured, micro_batches, _NORM_WORDS))
        return tape

    def submit(self, step: int, count: int) -> Awaitable[bytes]:
        """Sends optimiser steps `step` to `step + count - 1` (from 0) to the GPU."""
        data = np.concatenate([self.data(step + i) for i in range(count)])
        return self.device.replay([self.plan], feed=self.feed, data=data.tobytes(), steps=count,
                                  readback=self.measured)

    def data(self, step: int) -> NDArray[np.uint32]:
        """The words that one step is fed; the same for the same step, always."""
        settings = self.settings
        micro_batches = settings.gradient_accumulation_steps
        words = np.zeros(self._words, np.uint32)
        scalars = self.optimizer.scalars(step, settings.rate(step), 1.0 / micro_batches)
        words[:SCALARS] = np.array(scalars, np.float32).view(np.uint32)
        for micro in range(micro_batches):
            pair = batch(self.part, step, micro, settings.per_device_train_batch_size,
                         settings.context_length, settings.seed)
            for which, ids in enumerate(pair):
                start = self._offset(micro, which)
                words[start:start + ids.size] = ids.reshape(-1)
        return words

    def read(self, step: int, data: bytes) -> list[Measured]:
        """The numbers of the steps that `submit(step, ...)` gave back."""
        micro_batches = self.settings.gradient_accumulation_steps
        rows = np.frombuffer(data, np.float32).reshape(-1, micro_batches + _NORM_WORDS)
        return [Measured(step + i + 1, float(np.mean(row[:micro_batches], dtype=np.float64)),
                         self.settings.rate(step + i), float(row[micro_batches]))
                for i, row in enumerate(rows)]

    def _ids(self, micro: int, which: int) -> Tensor:
        shape = (self.settings.per_device_train_batch_size, self.settings.context_length)
        region = self._part(self.feed, self._offset(micro, which), shape[0] * shape[1])
        return Tensor(shape, "uint32", region)

    def _offset(self, micro: int, which: int) -> int:
        return self._scalar_words + (2 * micro + which) * self._ids_words

    def _room(self, words: int, label: str) -> Region:
        return self.device.allocate(words * ITEM_BYTES, label).region

    def _part(self, region: Region, start: int, count: int) -> Region:
        return region.part(start * ITEM_BYTES, count * ITEM_BYTES)


def _aligned_words(words: int) -> int:
    step = ALIGNMENT // ITEM_BYTES
    return -(-words // step) * step
