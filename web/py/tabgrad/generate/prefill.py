"""Reading a prompt: whole chunks of it at a time, as matrix products, without any logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.device import Device, use_device
from tabgrad.gpu.plan import Plan
from tabgrad.models.cached import Caches, read
from tabgrad.models.decoder import Decoder
from tabgrad.platform.gpu_protocol import ALIGNMENT, AdapterInfo
from tabgrad.tensor import ITEM_BYTES, Tensor

CHUNKS = (256, 64, 16)
"""Rows of the plans, see `cut`."""
CHUNKS_OF_A_CPU = (64, 16)
"""The same where a CPU plays GPU: each size costs seconds of compiling there (SwiftShader: 4 to 5 s
a Llama), and 256 rows at a time are no faster than 64."""
SPAN_WORDS = ALIGNMENT // ITEM_BYTES  # the ids start behind it, where a kernel can bind them


def chunk_sizes(info: AdapterInfo) -> tuple[int, ...]:
    """Rows of the plans on an adapter, the largest first."""
    return CHUNKS_OF_A_CPU if runs_on_cpu(info) else CHUNKS


def cut(count: int, sizes: Sequence[int] = CHUNKS) -> list[tuple[int, int]]:
    """(rows of the plan, rows that count) for a prompt of `count` ids.

    The largest size that is filled by more than half; the rest of the rows are padding. Several
    small chunks take longer than one, and a second size has to be compiled.

    Example:
        >>> cut(340), cut(127, (64, 16)), cut(30, (64, 16))
        ([(256, 256), (64, 64), (16, 16), (16, 4)], [(64, 64), (64, 63)], [(16, 16), (16, 14)])
    """
    pieces = []
    while count > 0:
        rows = next((size for size in sizes if 2 * count > size), sizes[-1])
        pieces.append((rows, min(rows, count)))
        count -= rows
    return pieces


class Prefill:
    """Plans that read ids into the caches; one for each size, compiled when it is first needed.

    Args:
        decoder: whose weights.
        caches: that are filled.
        sizes: rows of the plans, the largest first.
    """

    def __init__(self, decoder: Decoder, caches: Caches, sizes: Sequence[int] = CHUNKS) -> None:
        self.device: Device = decoder.device
        self.sizes = tuple(size for size in sizes if size <= caches.window) or (caches.window,)
        self._decoder = decoder
        self._caches = caches
        self._plans: dict[int, Plan] = {}
        words = SPAN_WORDS + self.sizes[0]
        self._feed = self.device.allocate(words * ITEM_BYTES, "ids of a chunk").region

    @property
    def plans(self) -> list[Plan]:
        """Those that are compiled."""
        return list(self._plans.values())

    async def compile(self, rows: int,
                      progress: Callable[[int, int], None] | None = None) -> Plan:
        """The plan that reads `rows` ids."""
        if rows not in self._plans:
            use_device(self.device)
            span = Tensor((2,), "uint32", self._feed.part(0, 2 * ITEM_BYTES))
            ids = Tensor((rows,), "uint32",
                         self._feed.part(SPAN_WORDS * ITEM_BYTES, rows * ITEM_BYTES))
            with self.device.recording() as tape:
                read(self._decoder, ids, span, self._caches)
            self._plans[rows] = await tape.compile(label=f"prefill of {rows}", progress=progress)
        return self._plans[rows]

    def release(self) -> None:
        """Lets the plans go; what is read next is recorded anew."""
        for plan in self._plans.values():
            plan.release()
        self._plans = {}

    async def run(self, ids: Sequence[int], start: int, go_on: Callable[[], bool]) -> int:
        """Reads ids that stand at `start` and after; returns how many it read.

        Args:
            ids: what to read.
            start: position of the first.
            go_on: asked before each chunk; False ends early.
        """
        done = 0
        for rows, count in cut(len(ids), self.sizes):
            if not go_on():
                break
            plan = await self.compile(rows)
            data = np.zeros(SPAN_WORDS + rows, np.uint32)
            data[:2] = start + done, count
            data[SPAN_WORDS:SPAN_WORDS + count] = ids[done:done + count]
            feed = self._feed.part(0, data.nbytes)
            # The readback waits for the chunk, so that the next question of `go_on` is in time.
            await self.device.replay([plan], feed=feed, data=data.tobytes(),
                                     readback=self._feed.part(0, ITEM_BYTES))
            done += count
        return done
