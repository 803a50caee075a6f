"""Positions: of a run of rows, and inside the documents of packed rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def positions(start: NDArray[np.uint32], COUNT: int, LIMIT: int) -> NDArray[np.uint32]:
    """start, start + 1, ..., none above LIMIT - 1: (COUNT).

    Example:
        >>> positions(np.array([5], np.uint32), COUNT=4, LIMIT=8).tolist()
        [5, 6, 7, 7]
    """
    last = np.uint64(LIMIT - 1)
    found = np.minimum(start[0] + np.arange(COUNT, dtype=np.uint64), last)
    positions: NDArray[np.uint32] = found.astype(np.uint32)
    return positions


def document_positions(starts: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """How far each position is from where its document begins: (B, T) -> (B, T).

    A start that lies after its position counts as the position.

    Example:
        >>> document_positions(np.array([[0, 0, 2, 3, 3]], np.uint32)).tolist()
        [[0, 1, 0, 0, 1]]
    """
    t = np.arange(starts.shape[1], dtype=np.uint32)                    # (T)
    return t - np.minimum(starts, t)
