"""The gates of the gated delta rule: formulas and oracles.

    decay = -exp(A_log) softplus(a + dt_bias)   (never positive: the log of what a state keeps)
    beta = sigmoid(b)                           (how far the state moves to the new value)

Source: Yang, Kautz, Hatamizadeh, "Gated delta networks", 2024; the decay is Mamba's (Gu and Dao).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def delta_gates_forward(a: Array, b: Array, A_log: Array, dt_bias: Array) -> tuple[Array, Array]:
    """Oracle of `delta_gates_forward`.

    Args:
        a, b: (R, H).
        A_log, dt_bias: (H,).

    Returns:
        decay and beta, each (R, H).

    Example:
        >>> zero = np.zeros((1, 1), np.float32)
        >>> decay, beta = delta_gates_forward(zero, zero, zero[0], zero[0])
        >>> round(float(decay[0, 0]), 4), float(beta[0, 0])
        (-0.6931, 0.5)
    """
    return -np.exp(A_log) * softplus(a + dt_bias), sigmoid(b)


def delta_gates_backward_input(da: Array, ddecay: Array, a: Array, A_log: Array, dt_bias: Array,
                               ACCUMULATE: int) -> Array:
    """Oracle of `delta_gates_backward_input`: -ddecay exp(A_log) sigmoid(a + dt_bias), (R, H)."""
    gradient = -ddecay * np.exp(A_log) * sigmoid(a + dt_bias)
    return da + gradient if ACCUMULATE else gradient


def delta_gates_backward_weight(dA_log: Array, ddt_bias: Array, ddecay: Array, a: Array,
                                A_log: Array, dt_bias: Array,
                                ACCUMULATE: int) -> tuple[Array, Array]:
    """Oracle of `delta_gates_backward_weight`.

    Args:
        dA_log, ddt_bias: (H,), the gradients so far; added to when ACCUMULATE is 1.
        ddecay: (R, H), gradient of the decay.
        a, A_log, dt_bias: the forward's inputs.

    Returns:
        dA_log, the sums of ddecay decay over the rows, and ddt_bias, those of da; each (H,).
    """
    rate = -np.exp(A_log)                                           # (H,)
    from_rate = (ddecay * rate * softplus(a + dt_bias)).sum(axis=0)  # (H,)
    from_shift = (ddecay * rate * sigmoid(a + dt_bias)).sum(axis=0)  # (H,)
    if ACCUMULATE:
        return dA_log + from_rate, ddt_bias + from_shift
    return from_rate, from_shift


def delta_gates_backward_beta(db: Array, dbeta: Array, beta: Array, ACCUMULATE: int) -> Array:
    """Oracle of `delta_gates_backward_beta`: dbeta beta (1 - beta), of any shape."""
    gradient = dbeta * beta * (1 - beta)
    return db + gradient if ACCUMULATE else gradient


def softplus(x: Array) -> Array:
    """log(1 + exp(x)) without overflow."""
    values: Array = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return values


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow."""
    values: Array = np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))
    return values
