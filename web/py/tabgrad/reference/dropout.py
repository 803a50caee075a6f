"""Dropout whose mask is a pure function of a seed, a stream and the number of the element."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.philox import uniform

Floats = NDArray[np.float32]

PURPOSE = 0x64726F70 << 32  # keeps the streams away from all others that use the same seed


def dropout(x: Floats, seed: NDArray[np.uint32], P: float, STREAM: int,
            out: Floats | None = None, ACCUMULATE: int = 0) -> Floats:
    """x / (1 - P) where the mask keeps it, else 0; added to `out` when ACCUMULATE is 1.

    Args:
        x: any shape.
        seed: (2) uint32, low word first.
        P: the part that is set to 0, in [0, 1).
        STREAM: different for each place of a model that drops.

    Returns:
        of x's shape.

    Example:
        >>> x = np.ones(1000, np.float32)
        >>> dropped = dropout(x, np.array([1, 0], np.uint32), P=0.25, STREAM=3)
        >>> sorted(set(dropped.tolist())), bool(abs((dropped == 0).mean() - 0.25) < 0.05)
        ([0.0, 1.3333333730697632], True)
    """
    kept = keeps(seed, P, STREAM, x.size).reshape(x.shape)
    dropped = np.where(kept, x / (np.float32(1) - np.float32(P)), np.float32(0))
    return dropped + out if ACCUMULATE and out is not None else dropped


def keeps(seed: NDArray[np.uint32], P: float, STREAM: int, count: int) -> NDArray[np.bool_]:
    """Whether each of `count` elements is kept: (count)."""
    number = int(seed[0]) | int(seed[1]) << 32
    return uniform(number, PURPOSE | STREAM, count) >= np.float32(P)
