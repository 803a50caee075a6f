"""Validation loss: the same windows of the held-back text, every time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tabgrad import platform
from tabgrad.autograd import no_grad
from tabgrad.gpu.device import Device
from tabgrad.gpu.plan import Plan
from tabgrad.models.decoder import Decoder
from tabgrad.platform.gpu_protocol import ALIGNMENT
from tabgrad.tensor import ITEM_BYTES, Tensor
from tabgrad.text.batches import validation_batches
from tabgrad.text.corpus import Units

BATCHES = 4


class Validation:
    """A forward-only plan of the loss, and the windows that it is measured on.

    Args:
        decoder: whose loss.
        part: (n,) uint8 or uint16, the validation part of the text; n >= T + 1.
        batch_size: B, windows a batch.
        context_length: T.
        batches: how many; spread evenly over the part.
    """

    def __init__(self, decoder: Decoder, part: Units, batch_size: int, context_length: int,
                 batches: int = BATCHES) -> None:
        self._decoder = decoder
        self._device: Device = decoder.arena.device
        self._shape = (batch_size, context_length)
        step = ALIGNMENT // ITEM_BYTES
        self._stride = -(-batch_size * context_length // step) * step
        self._data = [self._words(ids.reshape(-1), targets.reshape(-1)) for ids, targets in
                      validation_batches(part, batches, batch_size, context_length)]
        size = 2 * self._stride * ITEM_BYTES
        self._feed = self._device.allocate(size, "validation feed").region
        self._loss = self._device.allocate(ITEM_BYTES, "validation loss").region
        self._plan: Plan | None = None

    async def compile(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Records the forward pass and makes its plan."""
        size = self._shape[0] * self._shape[1] * ITEM_BYTES
        with self._device.recording() as tape, no_grad():
            ids, targets = (
                Tensor(self._shape, "uint32", self._feed.part(start * ITEM_BYTES, size))
                for start in (0, self._stride))                              # (B, T) each
            loss = self._decoder.loss(ids, targets)                          # ()
            self._device.copy(loss.region, self._loss)
        self._plan = await tape.compile(outputs=[], label="validation", progress=progress)

    async def measure(self, go_on: Callable[[], bool] = lambda: True) -> float | None:
        """Mean cross-entropy over all batches, in nats per byte (or token).

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
                                            readback=self._loss)
            losses.append(float(np.frombuffer(raw, np.float32)[0]))
            # Natively nothing above has let the event loop run.
            await platform.current().pause()
        return float(np.mean(losses))

    def _words(self, ids: np.ndarray, targets: np.ndarray) -> bytes:
        words = np.zeros(2 * self._stride, np.uint32)
        words[:ids.size] = ids
        words[self._stride:self._stride + targets.size] = targets
        return words.tobytes()
