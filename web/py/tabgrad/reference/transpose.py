"""The transpose of a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def transpose(x: Floats, out: Floats | None = None, ACCUMULATE: int = 0) -> Floats:
    """(R, C) -> (C, R), added to `out` when ACCUMULATE is 1.

    Example:
        >>> transpose(np.array([[1, 2], [3, 4]], np.float32)).tolist()
        [[1.0, 3.0], [2.0, 4.0]]
    """
    return x.T + out if ACCUMULATE and out is not None else x.T


def transpose_halves(x: NDArray[np.uint32], R: int, C: int) -> NDArray[np.uint32]:
    """The transpose of (R, C) 16-bit numbers that lie two in a word, low half first.

    Example:
        >>> words = np.array([1 | 2 << 16, 3 | 4 << 16], np.uint32)
        >>> [f"{word:x}" for word in transpose_halves(words, R=2, C=2)]
        ['30001', '40002']
    """
    halves = np.ascontiguousarray(x, np.uint32).view(np.uint16)[:R * C].reshape(R, C)
    turned = np.zeros(2 * x.size, np.uint16)
    turned[:R * C] = halves.T.reshape(-1)
    return turned.view(np.uint32)
