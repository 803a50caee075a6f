"""RMS normalisation with a gate: formulas and oracles.

    rstd = 1 / sqrt(mean(x²) + EPS) for each row,  out = x rstd weight silu(gate)

and, with dnorm = dout silu(gate), which is the gradient of an RMS normalisation's output:

    dgate = dout x rstd weight silu'(gate);  dx and dweight as in `reference.rmsnorm`

Source: Zhang and Sennrich, "Root mean square layer normalization", 2019; the gate is Mamba-2's
(Dao and Gu, 2024), after the norm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.rmsnorm import rmsnorm_forward
from tabgrad.reference.short_convolution import silu

Array = NDArray[np.float32]


def gated_rmsnorm_forward(x: Array, gate: Array, weight: Array,
                          EPS: float) -> tuple[Array, Array]:
    """Oracle of `gated_rmsnorm_forward`.

    Args:
        x, gate: (R, C).
        weight: (C,), the gain.
        EPS: added to the mean of the squares.

    Returns:
        out (R, C), rstd (R,).

    Example:
        >>> x = np.array([[3.0, -3.0]], np.float32)
        >>> gate = np.full((1, 2), 100, np.float32)
        >>> gated_rmsnorm_forward(x, gate, np.ones(2, np.float32), EPS=0.0)[0].tolist()
        [[100.0, -100.0]]
    """
    out, rstd = rmsnorm_forward(x, weight, EPS, OFFSET=0.0)
    return out * silu(gate), rstd


def gated_rmsnorm_backward_gate(dgate: Array, dout: Array, x: Array, gate: Array, weight: Array,
                                rstd: Array, ACCUMULATE: int) -> tuple[Array, Array]:
    """Oracle of `gated_rmsnorm_backward_gate`.

    Args:
        dgate: (R, C), the gradient so far; added to when ACCUMULATE is 1.
        dout: (R, C), gradient of the output.
        x, gate, weight: the forward's inputs; rstd (R,): its result.

    Returns:
        dgate and dnorm, each (R, C).
    """
    s = (1 / (1 + np.exp(-gate))).astype(np.float32)           # (R, C)
    slope = s * (1 + gate * (1 - s))                           # (R, C)
    gradient = dout * x * rstd[:, None] * weight * slope       # (R, C)
    return (dgate + gradient if ACCUMULATE else gradient), dout * silu(gate)
