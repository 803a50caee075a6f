"""A gate that lets through what its sigmoid says: x sigmoid(gate)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.silu import sigmoid

Floats = NDArray[np.float32]


def sigmoid_gate_forward(x: Floats, gate: Floats, out: Floats | None = None,
                         ACCUMULATE: int = 0) -> Floats:
    """x sigmoid(gate), added to `out` when ACCUMULATE is 1; any shape. On dout: the gradient for x.

    Example:
        >>> sigmoid_gate_forward(np.array([3.0], np.float32), np.zeros(1, np.float32)).tolist()
        [1.5]
    """
    product = x * sigmoid(gate)
    if ACCUMULATE and out is not None:
        product = product + out
    return product.astype(np.float32)


def sigmoid_gate_backward(x: Floats, gate: Floats, dout: Floats, dgate: Floats | None = None,
                          ACCUMULATE: int = 0) -> Floats:
    """dout x s (1 - s), with s = sigmoid(gate), added to `dgate` when ACCUMULATE is 1.

    Args:
        x, gate: what the forward read, of any shape.
        dout: gradient of its result, of the same shape.
        dgate: added to when ACCUMULATE is 1.

    Example:
        >>> one = np.ones(1, np.float32)
        >>> sigmoid_gate_backward(one, np.zeros(1, np.float32), one).tolist()
        [0.25]
    """
    s = sigmoid(gate)
    gradient = dout * x * s * (1 - s)
    if ACCUMULATE and dgate is not None:
        gradient = gradient + dgate
    return gradient.astype(np.float32)
