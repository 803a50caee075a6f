"""The pass up to the hidden states, one plan for each length of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tabgrad.autograd import no_grad
from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.plan import Plan
from tabgrad.models.decoder import Decoder
from tabgrad.platform.gpu_protocol import AdapterInfo
from tabgrad.tensor import ITEM_BYTES, Tensor

ROWS = 1024
"""Positions of a batch, B T, where B is more than one."""
ROWS_OF_A_CPU = 512
LENGTHS = (32, 64, 128, 256, 512, 1024, 2048)
LENGTHS_OF_A_CPU = (64, 256, 1024)
"""Fewer where a CPU plays GPU: each plan costs seconds of compiling there."""


def bucket_lengths(info: AdapterInfo, context_length: int) -> list[int]:
    """Lengths T that rows are padded to, the longest last.

    Args:
        info: the adapter.
        context_length: the longest.
    """
    usual = LENGTHS_OF_A_CPU if runs_on_cpu(info) else LENGTHS
    return [*(one for one in usual if one < context_length), context_length]


class Forward:
    """Ids (B, T) -> hidden states (B T, C), in a buffer that stays.

    Args:
        decoder: whose weights.
        context_length: the longest T.

    Attributes:
        hidden: (N, C) float32 with N = B T of the largest batch: what the head reads.
    """

    def __init__(self, decoder: Decoder, context_length: int) -> None:
        self._decoder = decoder
        self._device = device = decoder.device
        self._positions = ROWS_OF_A_CPU if runs_on_cpu(device.info) else ROWS
        most = max(length * self.batch_size(length)
                   for length in bucket_lengths(device.info, context_length))
        width = decoder.recipe.hidden_size
        self._ids = device.allocate(most * ITEM_BYTES, "scored ids").region
        self.hidden = Tensor((most, width), "float32", device.allocate(
            most * width * ITEM_BYTES, "hidden states").region)
        self._plans: dict[int, Plan] = {}

    def batch_size(self, length: int) -> int:
        """B, rows of a batch of that length."""
        return max(1, self._positions // length)

    async def run(self, length: int, rows: Sequence[Sequence[int]]) -> None:
        """Fills `hidden`: position t of row b stands at b T + t.

        Args:
            length: T.
            rows: at most `batch_size(T)`, of at most T ids each.
        """
        plan = await self.compile(length)
        ids = np.zeros((self.batch_size(length), length), np.uint32)     # (B, T)
        for number, row in enumerate(rows):
            ids[number, :len(row)] = row
        feed = self._ids.part(0, ids.nbytes)
        await self._device.flush()
        await self._device.replay([plan], feed=feed, data=ids.tobytes(),
                                  readback=self._ids.part(0, ITEM_BYTES))

    async def compile(self, length: int) -> Plan:
        """The plan for rows of that length."""
        if length not in self._plans:
            shape = (self.batch_size(length), length)
            size = shape[0] * shape[1] * ITEM_BYTES
            ids = Tensor(shape, "uint32", self._ids.part(0, size))       # (B, T)
            with self._device.recording() as tape, no_grad():
                states = self._decoder.hidden_states(ids)                # (B, T, C)
                target = self.hidden.region.part(0, states.region.size)
                self._device.copy(states.region, target)
            self._plans[length] = await tape.compile(label=f"scoring of {shape}")
        return self._plans[length]

    def close(self) -> None:
        """Lets the plans go."""
        for plan in self._plans.values():
            plan.release()
        self._plans = {}
