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
