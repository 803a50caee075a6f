"""The head, for chosen positions only: the loss of each, and the likeliest id there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad import ops
from tabgrad.autograd import no_grad
from tabgrad.data.source import IGNORED
from tabgrad.gpu.plan import Plan
from tabgrad.models.decoder import Decoder
from tabgrad.platform.gpu_protocol import ALIGNMENT
from tabgrad.tensor import ITEM_BYTES, Tensor

LOGIT_BYTES = 2**25
MOST_ROWS = 256
STEP = ALIGNMENT // ITEM_BYTES
"""Rows come in multiples of this, so that whatever is R words long begins where it can be bound."""


def rows_of(vocab_size: int) -> int:
    """R, rows of logits that exist at once: about 32 MiB of them, 64 to 256 rows.

    Example:
        >>> rows_of(256), rows_of(49152), rows_of(262144)
        (256, 128, 64)
    """
    fitting = LOGIT_BYTES // (vocab_size * ITEM_BYTES)
    return max(STEP, min(MOST_ROWS, fitting // STEP * STEP))


class Head:
    """One plan: R chosen rows of the hidden states -> R losses and R ids.

    Args:
        decoder: whose head.
        hidden: (N, C) float32 that stays where it is.
    """

    def __init__(self, decoder: Decoder, hidden: Tensor) -> None:
        self._decoder = decoder
        self._device = decoder.device
        self._hidden = hidden
        self._rows = rows_of(decoder.recipe.vocab_size)
        size = 2 * self._rows * ITEM_BYTES
        self._feed = self._device.allocate(size, "chosen positions").region
        self._found = self._device.allocate(size, "losses of chosen positions").region
        self._plan: Plan | None = None

    async def run(self, picks: NDArray[np.uint32], targets: NDArray[np.uint32],
                  ) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
        """The losses of `targets` at the rows `picks`, in nats, and the likeliest ids there.

        Args:
            picks: (n,) rows of the hidden states.
            targets: (n,) ids.

        Returns:
            losses (n,) float32 and ids (n,) uint32.
        """
        plan, count = await self.compile(), self._rows
        steps = max(1, -(-len(picks) // count))
        data = np.zeros((steps, 2, count), np.uint32)                    # (steps, 2, R)
        data[:, 1] = IGNORED
        for step in range(steps):
            part = slice(step * count, min((step + 1) * count, len(picks)))
            data[step, 0, :part.stop - part.start] = picks[part]
            data[step, 1, :part.stop - part.start] = targets[part]
        raw = await self._device.replay([plan], feed=self._feed, data=data.tobytes(), steps=steps,
                                        readback=self._found)
        words = np.frombuffer(raw, np.uint32).reshape(steps, 2, count)   # (steps, 2, R)
        losses = words[:, 0].reshape(-1)[:len(picks)].view(np.float32)   # (n)
        return losses, words[:, 1].reshape(-1)[:len(picks)]

    async def compile(self) -> Plan:
        """The plan."""
        if self._plan is None:
            half = self._rows * ITEM_BYTES
            picks, targets = (Tensor((self._rows,), "uint32", self._feed.part(start, half))
                              for start in (0, half))                    # (R) each
            with self._device.recording() as tape, no_grad():
                x = ops.embedding(picks, self._hidden)                   # (R, C)
                logits = self._decoder.head(x)                           # (R, V)
                losses = ops.token_losses(logits, targets)               # (R)
                best = ops.argmax(logits)                                 # (R)
                self._device.copy(losses.region, self._found.part(0, half))
                self._device.copy(best.region, self._found.part(half, half))
            self._plan = await tape.compile(label=f"head of {self._rows} rows")
        return self._plan

    def close(self) -> None:
        """Lets the plan go."""
        if self._plan is not None:
            self._plan.release()
            self._plan = None
