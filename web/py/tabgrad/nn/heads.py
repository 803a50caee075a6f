"""Heads whose width is not a multiple of four, padded exactly for kernels that read four numbers.

The padding is a product with a matrix of zeros and ones: exact in float32, forward and backward,
and the padded channels add nothing to any score. It is no parameter: the model keeps its size.
"""

from __future__ import annotations

import weakref

import numpy as np

from tabgrad import ops
from tabgrad.gpu.device import Device, current_device
from tabgrad.tensor import Tensor

VECTOR = 4
_spreads: weakref.WeakKeyDictionary[Device, dict[tuple[int, int, bool], Tensor]] = (
    weakref.WeakKeyDictionary())


def padded_dim(head_dim: int) -> int:
    """The next multiple of four.

    Example:
        >>> padded_dim(2), padded_dim(64)
        (4, 64)
    """
    return -(-head_dim // VECTOR) * VECTOR


def spread_heads(x: Tensor, heads: int, head_dim: int) -> Tensor:
    """(..., heads·D) -> (..., heads·P), P the padded width, zeros behind each head."""
    if head_dim % VECTOR == 0:
        return x
    return ops.linear(x, _spread(heads, head_dim, False))


def gather_heads(x: Tensor, heads: int, head_dim: int) -> Tensor:
    """(..., heads·P) -> (..., heads·D): undoes `spread_heads`."""
    if head_dim % VECTOR == 0:
        return x
    return ops.linear(x, _spread(heads, head_dim, True))


def _spread(heads: int, head_dim: int, gather: bool) -> Tensor:
    """(heads·P, heads·D), or its transpose: a one where a channel comes from."""
    known = _spreads.setdefault(current_device(), {})
    key = (heads, head_dim, gather)
    if key not in known:
        matrix = np.kron(np.eye(heads), np.eye(padded_dim(head_dim), head_dim))
        known[key] = Tensor.from_numpy(matrix.T if gather else matrix)
    return known[key]
