"""The hyperbolic tangent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def tanh_forward(x: Floats) -> Floats:
    """tanh(x), of any shape.

    Example:
        >>> tanh_forward(np.array([0, 100], np.float32)).tolist()
        [0.0, 1.0]
    """
    return np.tanh(x)


def tanh_backward(y: Floats, dout: Floats, dx: Floats | None = None,
                  ACCUMULATE: int = 0) -> Floats:
    """dout * (1 - y²), with y what the forward gave; added to `dx` when ACCUMULATE is 1.

    Example:
        >>> tanh_backward(np.array([0.5], np.float32), np.array([2], np.float32)).tolist()
        [1.5]
    """
    gradient = dout * (1 - y**2)
    return gradient + dx if ACCUMULATE and dx is not None else gradient
