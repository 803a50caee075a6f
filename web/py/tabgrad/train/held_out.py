"""HeldOut: the loss over documents that are not trained on, per token that counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tabgrad import platform
from tabgrad.autograd import no_grad
from tabgrad.data.source import Batch
from tabgrad.errors import DataError
from tabgrad.gpu.device import Device
from tabgrad.gpu.plan import Plan
from tabgrad.platform.gpu_protocol import ALIGNMENT
from tabgrad.tensor import ITEM_BYTES, Tensor
from tabgrad.train.feed import Inputs
from tabgrad.train.step import Loss

MOST_BATCHES = 16
_STEP = ALIGNMENT // ITEM_BYTES


class HeldOut:
    """A forward-only plan of the loss, and the rows that it is measured on.

    Args:
        device: where.
        loss: records the loss of one batch.
        batches: of one shape, not empty; of many, 16 are taken, spread evenly.
        packed: whether the loss reads where documents begin.

    Raises:
        DataError: no target in them counts.
    """

    def __init__(self, device: Device, loss: Loss, batches: Sequence[Batch],
                 packed: bool) -> None:
        chosen = np.linspace(0, len(batches) - 1, min(len(batches), MOST_BATCHES)).round()
        kept = [batches[int(number)] for number in chosen]
        counted = sum(batch.trained for batch in kept)
        if not counted:
            raise DataError("Nothing of what was held back would be learned.", control="held_out",
                            remedy="Hold back more, or nothing.")
        self._device, self._loss = device, loss
        self._shape = kept[0].ids.shape
        self._names = ("ids", "targets", "starts") if packed else ("ids", "targets")
        self._stride = -(-kept[0].ids.size // _STEP) * _STEP
        weight = np.array([1.0 / counted], np.float32)
        self._data = [self._words(batch, weight) for batch in kept]
        self._feed = device.allocate(len(self._data[0]), "validation feed").region
        self._sum = device.allocate(ITEM_BYTES, "validation loss").region
        self._plan: Plan | None = None

    async def compile(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Records the forward pass and makes its plan."""
        with self._device.recording() as tape, no_grad():
            parts = {name: self._tensor(number, self._shape, "uint32")
                     for number, name in enumerate(self._names)}         # (B, T) each
            weight = self._tensor(len(self._names), (1,), "float32")
            loss = self._loss(Inputs(parts["ids"], parts["targets"], parts.get("starts"),
                                     weight))                            # ()
            self._device.copy(loss.region, self._sum)
        self._plan = await tape.compile(outputs=[], label="validation", progress=progress)

    async def measure(self, go_on: Callable[[], bool] = lambda: True) -> float | None:
        """Mean cross-entropy in nats over all tokens that count.

        Args:
            go_on: asked before each batch; False gives up.

        Returns:
            None when it was given up.
        """
        assert self._plan is not None, "compile first"
        total = 0.0
        for data in self._data:
            if not go_on():
                return None
            raw = await self._device.replay([self._plan], feed=self._feed, data=data,
                                            readback=self._sum)
            total += float(np.frombuffer(raw, np.float32)[0])
            # Natively nothing above has let the event loop run.
            await platform.current().pause()
        return total

    def _words(self, batch: Batch, weight: np.ndarray) -> bytes:
        words = np.zeros(len(self._names) * self._stride + 1, np.uint32)
        for number, name in enumerate(self._names):
            values = getattr(batch, name).reshape(-1)
            words[number * self._stride:number * self._stride + values.size] = values
        words[-1] = weight.view(np.uint32)[0]
        return words.tobytes()

    def _tensor(self, number: int, shape: tuple[int, ...], dtype: str) -> Tensor:
        size = int(np.prod(shape)) * ITEM_BYTES
        return Tensor(shape, dtype, self._feed.part(number * self._stride * ITEM_BYTES, size))
