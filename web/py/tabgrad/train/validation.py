"""Validation: the loss over what is not trained on, the same batches every time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tabgrad import platform
from tabgrad.autograd import no_grad
from tabgrad.data.source import Batch
from tabgrad.errors import DataError
from tabgrad.gpu.device import Device
from tabgrad.gpu.plan import Plan
from tabgrad.platform.gpu_protocol import ALIGNMENT
from tabgrad.tensor import ITEM_BYTES, Tensor
from tabgrad.text.batches import validation_batches
from tabgrad.text.corpus import Units
from tabgrad.train.feed import Inputs
from tabgrad.train.step import Loss

TEXT_BATCHES = 4
MOST_BATCHES = 16
_STEP = ALIGNMENT // ITEM_BYTES


class Validation:
    """A forward-only plan of the loss, and the batches that it is measured on.

    Args:
        device: where.
        loss: records the loss of one batch.
        batches: of one shape, not empty.
        packed: whether the loss reads where documents begin.
        counted: targets that count in all batches: each batch is fed 1 / counted as its weight,
            and their losses are added up. None: every target counts, no weight is fed, and their
            losses are averaged.
    """

    def __init__(self, device: Device, loss: Loss, batches: Sequence[Batch], *, packed: bool,
                 counted: int | None) -> None:
        self._device, self._loss = device, loss
        self._shape = batches[0].ids.shape
        self._names = ("ids", "targets", "starts") if packed else ("ids", "targets")
        self._stride = -(-batches[0].ids.size // _STEP) * _STEP
        self._weighted = counted is not None
        weight = np.array([1.0 / counted] if counted else [], np.float32)
        self._data = [self._words(batch, weight) for batch in batches]
        self._feed = device.allocate(len(self._data[0]), "validation feed").region
        self._measured = device.allocate(ITEM_BYTES, "validation loss").region
        self._plan: Plan | None = None

    async def compile(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Records the forward pass and makes its plan."""
        with self._device.recording() as tape, no_grad():
            parts = {name: self._tensor(number, self._shape, "uint32")
                     for number, name in enumerate(self._names)}         # (B, T) each
            weight = (self._tensor(len(self._names), (1,), "float32")
                      if self._weighted else None)
            loss = self._loss(Inputs(parts["ids"], parts["targets"], parts.get("starts"),
                                     weight))                            # ()
            self._device.copy(loss.region, self._measured)
        self._plan = await tape.compile(outputs=[], label="validation", progress=progress)

    async def measure(self, go_on: Callable[[], bool] = lambda: True) -> float | None:
        """Mean cross-entropy in nats over all targets that count.

        Args:
            go_on: asked before each batch; False gives up.

        Returns:
            None when it was given up.
        """
        assert self._plan is not None, "compile first"
        losses = []
        for data in self._data:
            if not go_on():
                return None
            raw = await self._device.replay([self._plan], feed=self._feed, data=data,
                                            readback=self._measured)
            losses.append(float(np.frombuffer(raw, np.float32)[0]))
            # Natively nothing above has let the event loop run.
            await platform.current().pause()
        # One after the other: sum() rounds differently in Python 3.11.
        total = 0.0
        for loss in losses:
            total += loss
        return total if self._weighted else total / len(losses)

    def _words(self, batch: Batch, weight: NDArray[np.float32]) -> bytes:
        words = np.zeros(len(self._names) * self._stride + weight.size, np.uint32)
        for number, name in enumerate(self._names):
            values = getattr(batch, name).reshape(-1)
            words[number * self._stride:number * self._stride + values.size] = values
        words[len(self._names) * self._stride:] = weight.view(np.uint32)
        return words.tobytes()

    def _tensor(self, number: int, shape: tuple[int, ...], dtype: str) -> Tensor:
        size = int(np.prod(shape)) * ITEM_BYTES
        return Tensor(shape, dtype, self._feed.part(number * self._stride * ITEM_BYTES, size))


def over_text(device: Device, loss: Loss, part: Units, batch_size: int,
              context_length: int) -> Validation:
    """Four batches of windows, spread evenly over the held-back part of a text.

    Args:
        device: where.
        loss: records the mean loss of one batch.
        part: (n,) uint8 or uint16, n >= T + 1.
        batch_size: B, windows a batch.
        context_length: T.
    """
    batches = [Batch(ids, targets, np.zeros_like(ids)) for ids, targets in
               validation_batches(part, TEXT_BATCHES, batch_size, context_length)]
    return Validation(device, loss, batches, packed=False, counted=None)


def over_documents(device: Device, loss: Loss, batches: Sequence[Batch],
                   packed: bool) -> Validation:
    """Rows of documents that are held out, each target that counts with the same weight.

    Args:
        device: where.
        loss: records the loss of one batch, times the weight that it is given.
        batches: of one shape, not empty; of many, 16 are taken, spread evenly.
        packed: whether the loss reads where documents begin.

    Raises:
        DataError: no target in them counts.
    """
    chosen = np.linspace(0, len(batches) - 1, min(len(batches), MOST_BATCHES)).round()
    kept = [batches[int(number)] for number in chosen]
    counted = sum(batch.trained for batch in kept)
    if not counted:
        raise DataError("Nothing of what was held back would be learned.", control="held_out",
                        remedy="Hold back more, or nothing.")
    return Validation(device, loss, kept, packed=packed, counted=counted)
