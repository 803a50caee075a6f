"""Where a training step gets its data: a batch is a pure function of step and micro-batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tabgrad.text import batches
from tabgrad.text.corpus import Units, check_length

Ids = NDArray[np.uint32]

IGNORED = 0xFFFFFFFF
"""A target that does not count: no loss is taken there, and no gradient comes from it."""


@dataclass(frozen=True)
class Batch:
    """Rows of one micro-batch.

    Args:
        ids: (B, T) uint32, what the model reads.
        targets: (B, T) uint32, the id that should follow each position, or `IGNORED`.
        starts: (B, T) uint32, the first position of the row that position t may look at: where
            its document begins. All 0 where a row is one document.
    """

    ids: Ids
    targets: Ids
    starts: Ids

    @property
    def trained(self) -> int:
        """Targets that count.

        Example:
            >>> one = np.array([[1, 2]], np.uint32)
            >>> Batch(one, np.array([[2, IGNORED]], np.uint32), np.zeros_like(one)).trained
            1
        """
        return int(np.count_nonzero(self.targets != IGNORED))


class BatchSource(Protocol):
    """What `train.TrainStep` reads from."""

    @property
    def packed(self) -> bool:
        """Whether rows hold several documents, so that `starts` are to be fed."""

    def batch(self, step: int, micro: int, batch_size: int) -> Batch:
        """The rows of one micro-batch; the same for the same numbers, always.

        Args:
            step: optimiser step, from 0.
            micro: number of the micro-batch inside the step, from 0.
            batch_size: B, rows.
        """

    def trained_in(self, step: int, micro_batches: int, batch_size: int) -> int:
        """Targets that count in one optimiser step: what its mean loss is divided by.

        Args:
            step: optimiser step, from 0.
            micro_batches: that the step has.
            batch_size: B, rows of each.
        """


class WindowSource:
    """The windows of pre-training: each row starts anywhere in the text, every target counts.

    Args:
        part: (n,) uint8 or uint16, the training part of the text, n >= T + 1.
        context_length: T.
        seed: of the run; 0 <= seed < 2**64.

    Attributes:
        packed: False; a row is one piece of text.

    Raises:
        DataError: the part is shorter than one window.

    Example:
        >>> source = WindowSource(np.arange(100, dtype=np.uint8), context_length=8, seed=1)
        >>> batch = source.batch(step=3, micro=0, batch_size=2)
        >>> batch.ids.shape, bool((batch.targets == batch.ids + 1).all()), int(batch.starts.max())
        ((2, 8), True, 0)
        >>> source.trained_in(step=3, micro_batches=4, batch_size=2)
        64
    """

    packed = False

    def __init__(self, part: Units, context_length: int, seed: int) -> None:
        check_length(len(part), context_length)
        self._part = part
        self._context_length = context_length
        self._seed = seed

    def batch(self, step: int, micro: int, batch_size: int) -> Batch:
        """Windows of one micro-batch; see `text.batches.batch`."""
        ids, targets = batches.batch(self._part, step, micro, batch_size, self._context_length,
                                     self._seed)
        return Batch(ids, targets, np.zeros_like(ids))

    def trained_in(self, step: int, micro_batches: int, batch_size: int) -> int:
        """All of them: the same in every step."""
        return micro_batches * batch_size * self._context_length
