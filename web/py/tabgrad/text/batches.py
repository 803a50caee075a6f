"""Training windows drawn from a text: a pure function of (seed, step, micro-batch).

Nothing is remembered between steps. Resuming at step n therefore reads exactly the windows that an
uninterrupted run would have read, and the "data cursor" of a checkpoint is the step number.

Random bits come from Philox, a counter-based generator (Salmon et al., "Parallel random numbers:
as easy as 1, 2, 3", SC 2011): key = seed, counter = (stream, micro, step).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import DataError
from tabgrad.text.corpus import Units, check_length

Ids = NDArray[np.uint32]

_TRAINING_STREAM = 1


def batch(part: Units, step: int, micro: int, batch_size: int, context_length: int,
          seed: int) -> tuple[Ids, Ids]:
    """The windows of one micro-batch.

    Each row is a window of T + 1 bytes (or tokens) that starts anywhere in the part, all starts
    equally likely: ids = window[:T], targets = window[1:].

    Args:
        part: (n,) uint8 or uint16, n >= T + 1.
        step: optimiser step, from 0.
        micro: number of the micro-batch inside the step, from 0.
        batch_size: B, rows.
        context_length: T, positions.
        seed: of the run; 0 <= seed < 2**64.
    Returns:
        ids (B, T) uint32 and targets (B, T) uint32.
    Raises:
        DataError: the part is shorter than one window.

    Example:
        >>> part = np.arange(100, dtype=np.uint8)
        >>> ids, targets = batch(part, step=3, micro=0, batch_size=2, context_length=8, seed=1)
        >>> ids.shape, bool((targets == ids + 1).all())
        ((2, 8), True)
        >>> again, _ = batch(part, step=3, micro=0, batch_size=2, context_length=8, seed=1)
        >>> bool((ids == again).all())
        True
    """
    check_length(len(part), context_length)
    spans = len(part) - context_length
    # Philox advances its counter by one for each four words; step and micro sit in higher words.
    bits = np.random.Philox(key=seed, counter=[0, _TRAINING_STREAM, micro, step])
    raw = bits.random_raw(batch_size)                                   # (B,) uint64
    # High 32 bits times the number of starts, shifted back: unbiased to 2**-32, no rejection.
    starts = ((raw >> np.uint64(32)) * np.uint64(spans)) >> np.uint64(32)
    return _windows(part, starts.astype(np.int64), context_length)


def validation_batches(part: Units, count: int, batch_size: int,
                       context_length: int) -> list[tuple[Ids, Ids]]:
    """The same `count` batches every time: windows spread evenly over the validation part.

    Args:
        part: (n,) uint8 or uint16, n >= T + 1.
        count: batches, at least 1.
        batch_size: B.
        context_length: T.
    Returns:
        `count` pairs of ids (B, T) uint32 and targets (B, T) uint32.

    Example:
        >>> pairs = validation_batches(np.arange(40, dtype=np.uint8), 2, 2, 9)
        >>> [ids[:, 0].tolist() for ids, _ in pairs]
        [[0, 10], [20, 30]]
    """
    check_length(len(part), context_length)
    if count < 1 or batch_size < 1:
        raise DataError("validation_batches: count and batch_size start at 1.",
                        received=f"{count} and {batch_size}")
    last = len(part) - context_length - 1
    starts = np.linspace(0, last, count * batch_size).round().astype(np.int64)
    return [_windows(part, chosen, context_length) for chosen in starts.reshape(count, -1)]


def _windows(part: Units, starts: NDArray[np.int64], context_length: int) -> tuple[Ids, Ids]:
    window = part[starts[:, None] + np.arange(context_length + 1)]      # (B, T + 1)
    return window[:, :-1].astype(np.uint32), window[:, 1:].astype(np.uint32)
