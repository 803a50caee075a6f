"""Columns of a matrix from a narrower one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def insert_columns(out: Array, x: Array, FIRST: int) -> Array:
    """Oracle of `insert_columns`: out[m, FIRST + n] = x[m, n]; the others stay.

    Args:
        out: (M, STRIDE).
        x: (M, N), with FIRST + N <= STRIDE.
        FIRST: the column of out where x begins.

    Returns:
        out (M, STRIDE).

    Example:
        >>> insert_columns(np.zeros((1, 3)), np.ones((1, 2)), 1).tolist()
        [[0.0, 1.0, 1.0]]
    """
    result = out.copy()
    result[:, FIRST:FIRST + x.shape[1]] = x
    return result
