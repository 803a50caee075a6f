"""Sums in which the second operand may repeat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def add_forward(a: Floats, b: Floats, FACTOR: float = 1.0) -> Floats:
    """a + FACTOR * b, with b repeated until it is as long as a.

    A bias (C) is added to rows (N, C) that way, and positions (T, C) to a batch (B, T, C).

    Args:
        a: (COUNT) float32.
        b: (PERIOD) float32; PERIOD divides COUNT.
        FACTOR: 1 adds, -1 subtracts.

    Returns:
        (COUNT) float32.

    Example:
        >>> add_forward(np.zeros(4, np.float32), np.array([1, 2], np.float32)).tolist()
        [1.0, 2.0, 1.0, 2.0]
    """
    repeated = np.tile(b, len(a) // len(b))             # (COUNT)
    return a + np.float32(FACTOR) * repeated            # (COUNT)
