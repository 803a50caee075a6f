"""A narrower matrix added to some columns of a wide one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def add_columns_forward(y: Floats, delta: Floats, scale: Floats, FIRST: int) -> Floats:
    """y, with scale[0] * delta added to columns FIRST to FIRST + N - 1.

    Args:
        y: (R, M).
        delta: (R, N), with FIRST + N <= M.
        scale: (1).
        FIRST: the column of y where delta begins.

    Returns:
        (R, M).

    Example:
        >>> two = np.array([2], np.float32)
        >>> add_columns_forward(np.ones((1, 3)), np.ones((1, 1)), two, 2).tolist()
        [[1.0, 1.0, 3.0]]
    """
    out = y.copy()                                               # (R, M)
    out[:, FIRST:FIRST + delta.shape[1]] += scale[0] * delta     # (R, N)
    return out


def add_columns_backward(dout: Floats, scale: Floats, N: int, FIRST: int,
                         ddelta: Floats | None = None, ACCUMULATE: int = 0) -> Floats:
    """scale[0] * dout of those columns, (R, N); added to `ddelta` when ACCUMULATE is 1.

    Example:
        >>> two = np.array([2], np.float32)
        >>> add_columns_backward(np.array([[1.0, 2.0, 3.0]]), two, N=2, FIRST=1).tolist()
        [[4.0, 6.0]]
    """
    gradient: Floats = scale[0] * dout[:, FIRST:FIRST + N]               # (R, N)
    return gradient + ddelta if ACCUMULATE and ddelta is not None else gradient
