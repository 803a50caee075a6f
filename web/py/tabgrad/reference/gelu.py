"""GELU in its tanh form, as GPT-2 has it.

Source: Hendrycks and Gimpel, "Gaussian error linear units (GELUs)", 2016.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

ROOT = math.sqrt(2 / math.pi)
CUBIC = 0.044715


def gelu_forward(x: Floats) -> Floats:
    """x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))), of any shape.

    Example:
        >>> gelu_forward(np.array([-1, 0, 1], np.float32)).round(4).tolist()
        [-0.15880000591278076, 0.0, 0.8411999940872192]
    """
    x64 = x.astype(np.float64)
    t: Doubles = np.tanh(ROOT * (x64 + CUBIC * x64**3))
    return (0.5 * x64 * (1 + t)).astype(np.float32)


def gelu_backward(x: Floats, dout: Floats, dx: Floats | None = None,
                  ACCUMULATE: int = 0) -> Floats:
    """dout * gelu'(x), added to `dx` when ACCUMULATE is 1.

    gelu'(x) = (1 + t) / 2 + x / 2 (1 - t²) u', with u = sqrt(2 / pi) (x + 0.044715 x³), t = tanh u.

    Args:
        x: what the forward read, of any shape.
        dout: gradient of its result, of the same shape.
        dx: added to when ACCUMULATE is 1.

    Example:
        >>> gelu_backward(np.zeros(1, np.float32), np.ones(1, np.float32)).tolist()
        [0.5]
    """
    x64 = x.astype(np.float64)
    t: Doubles = np.tanh(ROOT * (x64 + CUBIC * x64**3))
    inner = ROOT * (1 + 3 * CUBIC * x64**2)
    gradient = dout * (0.5 * (1 + t) + 0.5 * x64 * (1 - t**2) * inner)
    if ACCUMULATE and dx is not None:
        gradient = gradient + dx
    return gradient.astype(np.float32)
