"""Matrix products in the three forms that a linear layer and its gradients need.

`n` is a matrix as stored, `t` one used transposed: for y = x Wᵀ the forward is NT, the gradient of
x is NN, and the gradient of W is TN. Sums are taken in float64, so that the oracle has no error of
its own worth speaking of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def _product(a: Array, b: Array, out: Array | None, accumulate: int) -> Array:
    product = a.astype(np.float64) @ b.astype(np.float64)   # (M, N)
    if accumulate and out is not None:
        product = product + out
    return product.astype(np.float32)


def matmul_nt(a: Array, b: Array, out: Array | None = None, ACCUMULATE: int = 0) -> Array:
    """a bᵀ.

    Args:
        a: (M, K) float32.
        b: (N, K) float32.
        out: (M, N) float32, added to when ACCUMULATE is 1.

    Returns:
        (M, N) float32.

    Example:
        >>> matmul_nt(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
        array([[11., 17.]], dtype=float32)
    """
    return _product(a, b.T, out, ACCUMULATE)


def matmul_nn(a: Array, b: Array, out: Array | None = None, ACCUMULATE: int = 0) -> Array:
    """a b, for a (M, K) and b (K, N); out as in `matmul_nt`."""
    return _product(a, b, out, ACCUMULATE)


def matmul_tn(a: Array, b: Array, out: Array | None = None, ACCUMULATE: int = 0) -> Array:
    """aᵀ b, for a (K, M) and b (K, N); out as in `matmul_nt`."""
    return _product(a.T, b, out, ACCUMULATE)
