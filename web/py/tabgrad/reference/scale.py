"""Multiplication by a number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def scale(x: Floats, FACTOR: float, out: Floats | None = None, ACCUMULATE: int = 0) -> Floats:
    """FACTOR * x, added to `out` when ACCUMULATE is 1; any shape.

    Example:
        >>> scale(np.array([1, 2], np.float32), 0.5).tolist()
        [0.5, 1.0]
    """
    product = x * np.float32(FACTOR)
    return product + out if ACCUMULATE and out is not None else product
