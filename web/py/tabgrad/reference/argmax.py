"""The column of the largest number of each row: what greedy writing would take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def argmax(x: NDArray[np.float32]) -> NDArray[np.uint32]:
    """(R, C) -> (R): of equal numbers the first.

    Example:
        >>> argmax(np.array([[1, 3, 3], [2, 0, 1]], np.float32)).tolist()
        [1, 0]
    """
    columns: NDArray[np.uint32] = np.argmax(x, axis=1).astype(np.uint32)     # (R)
    return columns
