"""The linear layer y = x Wᵀ + b, with what is fused to it.

In these functions `a` is x, one row for each position, and `b` is W, one row for each output.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.gelu import gelu_forward
from tabgrad.reference.matmul import matmul_nt

Floats = NDArray[np.float32]


def linear_forward(a: Floats, b: Floats, bias: Floats) -> Floats:
    """a bᵀ + bias.

    Args:
        a: (M, K) inputs.
        b: (N, K) weights.
        bias: (N).

    Returns:
        (M, N).

    Example:
        >>> linear_forward(np.ones((1, 2), np.float32), np.eye(2, dtype=np.float32),
        ...                np.array([0, 5], np.float32)).tolist()
        [[1.0, 6.0]]
    """
    return matmul_nt(a, b) + bias                    # (M, N)


def linear_gelu_forward(a: Floats, b: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """gelu(a bᵀ + bias), and the sums before the activation for the backward: (M, N) both."""
    pre = linear_forward(a, b, bias)                 # (M, N)
    return gelu_forward(pre), pre


def linear_residual_forward(a: Floats, b: Floats, bias: Floats, residual: Floats) -> Floats:
    """a bᵀ + bias + residual, with residual (M, N)."""
    return linear_forward(a, b, bias) + residual     # (M, N)


def matmul_residual_forward(a: Floats, b: Floats, residual: Floats) -> Floats:
    """a bᵀ + residual, with residual (M, N)."""
    return matmul_nt(a, b) + residual                # (M, N)
