"""The rectifier."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def relu_forward(x: Floats) -> Floats:
    """max(x, 0), of any shape.

    Example:
        >>> relu_forward(np.array([-1, 2], np.float32)).tolist()
        [0.0, 2.0]
    """
    return np.maximum(x, np.float32(0))


def relu_backward(x: Floats, dout: Floats, dx: Floats | None = None,
                  ACCUMULATE: int = 0) -> Floats:
    """dout where x > 0, else 0; added to `dx` when ACCUMULATE is 1.

    Example:
        >>> relu_backward(np.array([-1, 2], np.float32), np.array([5, 6], np.float32)).tolist()
        [0.0, 6.0]
    """
    gradient = np.where(x > 0, dout, np.float32(0))
    return gradient + dx if ACCUMULATE and dx is not None else gradient
