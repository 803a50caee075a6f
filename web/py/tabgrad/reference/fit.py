"""Matrices cut, or filled up with zeros, to other sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def fit(x: Array, I: int, J: int,  # noqa: E741
        out: Array | None = None, ACCUMULATE: int = 0) -> Array:
    """out[a, i, j] = x[a, i, j] where x has it, else 0; added to `out` when ACCUMULATE is 1.

    Args:
        x: (A, R, C).

    Returns:
        (A, I, J).

    Example:
        >>> fit(np.ones((1, 2, 2)), 1, 3).tolist()
        [[[1.0, 1.0, 0.0]]]
    """
    result = np.zeros((len(x), I, J), np.float32)
    rows, columns = min(I, x.shape[1]), min(J, x.shape[2])
    result[:, :rows, :columns] = x[:, :rows, :columns]
    return result + out if ACCUMULATE and out is not None else result
