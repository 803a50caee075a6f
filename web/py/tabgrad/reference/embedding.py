"""Embedding: rows of a table by their ids; the gradient adds up the rows of each id."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Ids = NDArray[np.uint32]


def embedding_forward(ids: Ids, weight: Array) -> Array:
    """Oracle of `embedding_forward`: out[n] = weight[ids[n]].

    Args:
        ids: (N,) uint32 below V.
        weight: (V, C) float32.

    Returns:
        (N, C).

    Example:
        >>> embedding_forward(np.array([2, 0]), np.array([[1.0], [2.0], [3.0]])).tolist()
        [[3.0], [1.0]]
    """
    return weight[ids]


def embedding_range_forward(out: Array, ids: Ids, weight: Array, FIRST: int) -> Array:
    """Oracle of `embedding_range_forward`: out[n] = weight[ids[n] - FIRST] where there is one.

    Args:
        out: (N, C), the rows so far.
        ids: (N,) uint32 of the whole table.
        weight: (R, C), rows FIRST to FIRST + R - 1 of the table.
        FIRST: the part's first row.

    Returns:
        out (N, C).

    Example:
        >>> part, ids = np.array([[7.0]]), np.array([1, 2])
        >>> embedding_range_forward(np.zeros((2, 1)), ids, part, 2).tolist()
        [[0.0], [7.0]]
    """
    result = out.copy()
    rows = ids.astype(np.int64) - FIRST                 # (N)
    inside = (rows >= 0) & (rows < weight.shape[0])     # (N)
    result[inside] = weight[rows[inside]]
    return result


def embedding_backward(dweight: Array, dout: Array, ids: Ids) -> Array:
    """Oracle of `embedding_backward`: dweight[ids[n]] += dout[n].

    Args:
        dweight: (V, C), the gradient so far.
        dout: (N, C), gradient of the output.
        ids: (N,) uint32 below V; an id that occurs twice gets both rows.

    Returns:
        dweight (V, C).

    Example:
        >>> rows = np.array([[1.0], [10.0], [100.0]])
        >>> embedding_backward(np.zeros((2, 1)), rows, np.array([1, 0, 1])).tolist()
        [[10.0], [101.0]]
    """
    result = dweight.copy()
    np.add.at(result, ids, dout)
    return result
