"""GELU with the normal distribution's own integral: x times the share of it that lies below x.

Source: Hendrycks and Gimpel, "Gaussian error linear units (GELUs)", 2016.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def normal_below(x: Doubles) -> Doubles:
    """The share of a normal distribution that lies below x, of any shape.

    Example:
        >>> normal_below(np.array([-40.0, 0.0, 40.0])).tolist()
        [0.0, 0.5, 1.0]
    """
    share: Doubles = 0.5 * np.vectorize(math.erfc, otypes=[np.float64])(-x * math.sqrt(0.5))
    return share


def gelu_exact_forward(x: Floats) -> Floats:
    """x / 2 (1 + erf(x / sqrt(2))), of any shape.

    Example:
        >>> [round(float(y), 4) for y in gelu_exact_forward(np.array([-1, 0, 1], np.float32))]
        [-0.1587, 0.0, 0.8413]
    """
    x64 = x.astype(np.float64)
    return (x64 * normal_below(x64)).astype(np.float32)


def gelu_exact_backward(x: Floats, dout: Floats, dx: Floats | None = None,
                        ACCUMULATE: int = 0) -> Floats:
    """dout * (Φ(x) + x φ(x)), with the normal distribution φ and its integral Φ.

    Args:
        x: what the forward read, of any shape.
        dout: gradient of its result, of the same shape.
        dx: added to when ACCUMULATE is 1.

    Example:
        >>> gelu_exact_backward(np.zeros(1, np.float32), np.ones(1, np.float32)).tolist()
        [0.5]
    """
    x64 = x.astype(np.float64)
    near = np.clip(x64, -40, 40)  # so that no square overflows
    bell = np.exp(-0.5 * near**2) / math.sqrt(2 * math.pi)
    gradient = dout * (normal_below(x64) + near * bell)
    if ACCUMULATE and dx is not None:
        gradient = gradient + dx
    return gradient.astype(np.float32)
