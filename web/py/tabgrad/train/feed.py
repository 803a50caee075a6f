"""The words that a training step is fed, and where each of them lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad.data.source import BatchSource
from tabgrad.gpu.device import Device
from tabgrad.gpu.storage import Region
from tabgrad.optim.optimizer import SCALARS
from tabgrad.platform.gpu_protocol import ALIGNMENT
from tabgrad.tensor import ITEM_BYTES, Tensor
from tabgrad.train.step_settings import StepSettings

_STEP = ALIGNMENT // ITEM_BYTES
SEED_WORDS = 2


@dataclass(frozen=True)
class Inputs:
    """What the loss of one micro-batch reads, all on the GPU.

    Args:
        ids: (B, T) uint32.
        targets: (B, T) uint32.
        starts: (B, T) uint32, where the document of each position begins; None where rows are
            whole texts.
        weight: (1,) float32, 1 / (targets that count in the whole step); None where every target
            counts and the mean is over the micro-batch.
        seed: (2,) uint32, of this micro-batch's dropout; None where nothing is dropped.
    """

    ids: Tensor
    targets: Tensor
    starts: Tensor | None = None
    weight: Tensor | None = None
    seed: Tensor | None = None


class Feed:
    """One range of GPU memory, written before each step: scalars, then what each batch needs.

    Each part starts at a multiple of 256 bytes. Without starts, weight and seed it holds scalars,
    ids and targets, and nothing else.

    Args:
        device: where.
        settings: batch, context, accumulation, seed.
        source: of the batches.
        masked: whether some targets do not count, so that a weight is fed.
        dropout: whether a seed is fed.
    """

    def __init__(self, device: Device, settings: StepSettings, source: BatchSource, *,
                 masked: bool, dropout: bool) -> None:
        self.settings, self.source = settings, source
        self.rows = settings.per_device_train_batch_size
        self.columns = settings.context_length
        self._parts: dict[str, tuple[int, int]] = {}
        self._words = 0
        self._add("scalars", SCALARS)
        if masked:
            self._add("weight", 1)
        for micro in range(settings.gradient_accumulation_steps):
            for name in ("ids", "targets", "starts") if source.packed else ("ids", "targets"):
                self._add(f"{name}.{micro}", self.rows * self.columns)
            if dropout:
                self._add(f"seed.{micro}", SEED_WORDS)
        self.region = device.allocate(self._words * ITEM_BYTES, "feed of a step").region

    def _add(self, name: str, words: int) -> None:
        self._parts[name] = (self._words, words)
        self._words += -(-words // _STEP) * _STEP

    def inputs(self, micro: int) -> Inputs:
        """The tensors of one micro-batch."""
        shape = (self.rows, self.columns)
        batch = {name: self._tensor(f"{name}.{micro}", shape, "uint32")
                 for name in ("ids", "targets", "starts")}
        ids, targets = batch["ids"], batch["targets"]
        assert ids is not None and targets is not None
        return Inputs(ids, targets, batch["starts"], self._tensor("weight", (1,), "float32"),
                      self._tensor(f"seed.{micro}", (SEED_WORDS,), "uint32"))

    def part(self, name: str) -> Region:
        """The range of one part."""
        start, words = self._parts[name]
        return self.region.part(start * ITEM_BYTES, words * ITEM_BYTES)

    def words(self, step: int, scalars: list[float]) -> NDArray[np.uint32]:
        """All words of one step; the same for the same step, always.

        Args:
            step: from 0.
            scalars: of the optimiser.
        """
        words = np.zeros(self._words, np.uint32)
        self.put(words, "scalars", np.array(scalars, np.float32).view(np.uint32))
        micro_batches = self.settings.gradient_accumulation_steps
        if "weight" in self._parts:
            counted = self.source.trained_in(step, micro_batches, self.rows)
            weight = np.array([1.0 / max(1, counted)], np.float32)
            self.put(words, "weight", weight.view(np.uint32))
        for micro in range(micro_batches):
            batch = self.source.batch(step, micro, self.rows)
            self.put(words, f"ids.{micro}", batch.ids)
            self.put(words, f"targets.{micro}", batch.targets)
            if self.source.packed:
                self.put(words, f"starts.{micro}", batch.starts)
            if f"seed.{micro}" in self._parts:
                count = (step * micro_batches + micro) % 2**32
                self.put(words, f"seed.{micro}", np.array([self.settings.seed, count], np.uint32))
        return words

    def put(self, words: NDArray[np.uint32], name: str, values: NDArray[np.uint32]) -> None:
        """Writes one part of a step's words."""
        start, count = self._parts[name]
        words[start:start + count] = values.reshape(-1)

    def _tensor(self, name: str, shape: tuple[int, ...], dtype: str) -> Tensor | None:
        return Tensor(shape, dtype, self.part(name)) if name in self._parts else None
