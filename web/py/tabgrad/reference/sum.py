"""Sums over everything and over rows, and the gradient that goes back through them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
STRETCH = 4096  # elements of one sum


def sum_stretches(x: Floats, FACTOR: float = 1.0) -> Floats:
    """FACTOR times the sum of each stretch of 4096: (COUNT) -> (ceil(COUNT / 4096)).

    Example:
        >>> sum_stretches(np.ones(5000, np.float32)).tolist()
        [4096.0, 904.0]
    """
    starts = np.arange(0, len(x), STRETCH)
    sums: NDArray[np.float64] = np.add.reduceat(x.astype(np.float64), starts)
    return (FACTOR * sums).astype(np.float32)


def column_sum(x: Floats, FACTOR: float = 1.0, out: Floats | None = None,
               ACCUMULATE: int = 0) -> Floats:
    """FACTOR times the sum over the rows: (R, C) -> (C); added to `out` when ACCUMULATE is 1.

    Example:
        >>> column_sum(np.array([[1, 2], [3, 4]], np.float32)).tolist()
        [4.0, 6.0]
    """
    total: NDArray[np.float64] = FACTOR * x.astype(np.float64).sum(axis=0)   # (C)
    if ACCUMULATE and out is not None:
        total = total + out
    return total.astype(np.float32)


def fill(value: Floats, COUNT: int, FACTOR: float = 1.0, out: Floats | None = None,
         ACCUMULATE: int = 0) -> Floats:
    """COUNT times the number FACTOR * value[0]; added to `out` when ACCUMULATE is 1.

    A sum passes its gradient to every element, a mean a COUNT-th of it.

    Example:
        >>> fill(np.array([8], np.float32), COUNT=2, FACTOR=0.5).tolist()
        [4.0, 4.0]
    """
    filled = np.full(COUNT, np.float32(FACTOR) * value[0], np.float32)   # (COUNT)
    return filled + out if ACCUMULATE and out is not None else filled
