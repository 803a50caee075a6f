"""SiLU, also called Swish: x sigmoid(x).

Source: Elfwing, Uchibe, Doya, "Sigmoid-weighted linear units", 2017.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def sigmoid(x: Floats) -> Doubles:
    """1 / (1 + e⁻ˣ) in float64, of any shape; neither side overflows.

    Example:
        >>> sigmoid(np.array([-1000, 0, 1000], np.float32)).tolist()
        [0.0, 0.5, 1.0]
    """
    small = np.exp(-np.abs(x.astype(np.float64)))
    value: Doubles = np.where(x < 0, small, 1.0) / (1 + small)
    return value


def silu_slope(x: Floats) -> Doubles:
    """The derivative of x s, with s = sigmoid(x): s (1 + x (1 - s)).

    Example:
        >>> silu_slope(np.zeros(1, np.float32)).tolist()
        [0.5]
    """
    s = sigmoid(x)
    return s * (1 + x * (1 - s))


def silu_forward(x: Floats) -> Floats:
    """x sigmoid(x), of any shape.

    Example:
        >>> [round(float(y), 4) for y in silu_forward(np.array([-1, 0, 1], np.float32))]
        [-0.2689, 0.0, 0.7311]
    """
    return (x * sigmoid(x)).astype(np.float32)


def silu_backward(x: Floats, dout: Floats, dx: Floats | None = None,
                  ACCUMULATE: int = 0) -> Floats:
    """dout * silu'(x), added to `dx` when ACCUMULATE is 1.

    Args:
        x: what the forward read, of any shape.
        dout: gradient of its result, of the same shape.
        dx: added to when ACCUMULATE is 1.

    Example:
        >>> silu_backward(np.zeros(1, np.float32), np.ones(1, np.float32)).tolist()
        [0.5]
    """
    gradient = dout * silu_slope(x)
    if ACCUMULATE and dx is not None:
        gradient = gradient + dx
    return gradient.astype(np.float32)
