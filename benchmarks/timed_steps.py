"""Timed training steps of `byte-tinygpt` on one batch: the part that runs beside the GPU.

Runs unchanged in the tab and on CPython: `measure` is given its clock and its counters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.data.source import Batch
from tabgrad.gpu.device import Device
from tabgrad.models.decoder import Decoder
from tabgrad.train.pretrain import pretrain_step
from tabgrad.train.settings import TrainSettings

Counts = dict[str, int]


class OneBatch:
    """A source that gives the same ids and targets each time.

    Args:
        ids, targets: (B, T).
    """

    packed = False

    def __init__(self, ids: NDArray[np.uint32], targets: NDArray[np.uint32]) -> None:
        self._batch = Batch(ids, targets, np.zeros_like(ids))

    def batch(self, step: int, micro: int, batch_size: int) -> Batch:
        """The one batch."""
        return self._batch

    def trained_in(self, step: int, micro_batches: int, batch_size: int) -> int:
        """Every target counts."""
        return self._batch.trained


async def measure(device: Device, state: dict[str, NDArray[np.float32]],
                  ids: NDArray[np.uint32], targets: NDArray[np.uint32], steps: int,
                  now_ms: Callable[[], float], counts: Callable[[], Counts]) -> dict[str, Any]:
    """Trains `steps` steps, each timed from its call until its loss is on the CPU.

    The decay of 0.1 is on every parameter, as in the other libraries' steps, not on matrices only.

    Returns:
        losses, ms (the first includes compiling), perStep (calls of the last step), kernels
        (label, milliseconds) of one profiled step, adapter.
    """
    B, T = ids.shape
    settings = TrainSettings.for_preset(
        "byte-tinygpt", context_length=T, per_device_train_batch_size=B, learning_rate=3e-4,
        lr_scheduler_type="constant", warmup_steps=0, max_steps=steps)
    decoder = Decoder(settings.recipe, seed=0)
    decoder.arena.write(decoder.arena.weights, state)
    decoder.arena.decayed = decoder.arena.size
    step = pretrain_step(decoder, settings, OneBatch(ids, targets))
    losses, ms = [], []
    before = after = counts()
    for number in range(steps):
        before = counts()
        start = now_ms()
        if number == 0:
            await step.compile()
        (measured,) = step.read(number, await step.submit(number, 1))
        ms.append(now_ms() - start)
        after = counts()
        losses.append(measured.loss)
    return {"losses": losses, "ms": ms, "perStep": {name: after[name] - before[name]
                                                   for name in after},
            "kernels": await device.profile(step.plan), "adapter": device.info.name}
