"""The gated activation inside an MLP: activation(gate) up, from rows that hold gates, then ups.

    dgate = dout activation'(gate) up,  dup = dout activation(gate)

Source: Shazeer, "GLU variants improve transformer", 2020 (SwiGLU and GEGLU).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.gelu import gelu_backward, gelu_forward
from tabgrad.reference.silu import silu_backward, silu_forward

Floats = NDArray[np.float32]

FORWARD = (silu_forward, gelu_forward)  # by ACTIVATION
BACKWARD = (silu_backward, gelu_backward)


def gated_forward(gate_up: Floats, ACTIVATION: int = 0) -> Floats:
    """Oracle of `gated_forward`.

    Args:
        gate_up: (R, 2 F), gates, then ups.
        ACTIVATION: 0 SiLU, 1 GELU in its tanh form.

    Returns:
        (R, F).

    Example:
        >>> gated_forward(np.array([[1, 0, 10, 10]], np.float32)).round(3).tolist()
        [[7.310999870300293, 0.0]]
    """
    gate, up = np.split(gate_up, 2, axis=-1)                   # (R, F) each
    product: Floats = FORWARD[ACTIVATION](gate) * up           # (R, F)
    return product


def gated_backward(dgate_up: Floats, gate_up: Floats, dout: Floats, ACCUMULATE: int,
                   ACTIVATION: int = 0) -> Floats:
    """Oracle of `gated_backward`.

    Args:
        dgate_up: (R, 2 F), the gradient so far.
        gate_up: (R, 2 F), the forward's input.
        dout: (R, F), gradient of its result.
        ACCUMULATE: 1 adds to dgate_up, 0 writes it.
        ACTIVATION: 0 SiLU, 1 GELU in its tanh form.

    Returns:
        dgate_up (R, 2 F).
    """
    gate, up = np.split(gate_up, 2, axis=-1)                   # (R, F) each
    dgate = BACKWARD[ACTIVATION](gate, dout) * up              # (R, F)
    dup = FORWARD[ACTIVATION](gate) * dout                     # (R, F)
    gradient = np.concatenate([dgate, dup], axis=-1)           # (R, 2 F)
    return dgate_up + gradient if ACCUMULATE else gradient


def linear_gated_forward(a: Floats, b: Floats, ACTIVATION: int = 0) -> Floats:
    """Oracle of `linear_gated_row_forward`: the gated activation of a bᵀ.

    Args:
        a: (M, K).
        b: (2 F, K), F rows of gate, then F rows of up.
        ACTIVATION: 0 SiLU, 1 GELU in its tanh form.

    Returns:
        (M, F).

    Example:
        >>> ones = np.ones((1, 4), np.float32)
        >>> round(float(linear_gated_forward(ones, np.stack([ones[0], 2 * ones[0]]))[0, 0]), 2)
        31.42
    """
    product = a.astype(np.float64) @ b.T.astype(np.float64)             # (M, 2 F)
    return gated_forward(product.astype(np.float32), ACTIVATION)
