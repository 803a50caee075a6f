"""A short causal depthwise convolution with SiLU: formulas and oracles.

Each channel c has K taps of its own; x before the first position of a document is zero:

    sum[t] = sum over j of weight[c, j] x[t - (K - 1) + j],  out[t] = silu(sum[t])

With dsum = dout silu'(sum):

    dx[t] = sum over j of weight[c, j] dsum[t + (K - 1) - j]
    dweight[c, j] = sum over t of dsum[t] x[t - (K - 1) + j]

where only pairs of positions of one document count. A row is one document unless it is PACKED:
then starts[t] is the first position of t's document.

Source: Gu and Dao, "Mamba", 2023 (the convolution before a recurrent mixer).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.documents import (
    Begins,
    Starts,
    document_begins,
    one_document,
    sees_back,
)

Array = NDArray[np.float32]
Indices = NDArray[np.uint32]


def short_convolution_forward(x: Array, weight: Array, starts: Starts, PACKED: int = 0) -> Array:
    """Oracle of `short_convolution_forward`.

    Args:
        x: (B, T, C).
        weight: (C, K), the tap of the newest position last.
        starts: (B, T), the first position of each one's document; not read unless PACKED is 1.
        PACKED: 1 where rows hold several documents.

    Returns:
        (B, T, C).

    Example:
        >>> x = np.array([[[100.0], [200.0], [300.0]]], np.float32)
        >>> weight, starts = np.array([[0.5, 1.0]], np.float32), np.array([[0, 0, 2]], np.uint32)
        >>> short_convolution_forward(x, weight, starts).ravel().tolist()
        [100.0, 250.0, 400.0]
        >>> short_convolution_forward(x, weight, starts, PACKED=1).ravel().tolist()
        [100.0, 250.0, 300.0]
    """
    return silu(convolve(x, weight, document_begins(starts, x.shape[1], PACKED)))


def short_convolution_cached(x: Array, weight: Array, state: Array,
                             span: Indices) -> tuple[Array, Array]:
    """Oracle of `short_convolution_cached`: rows that follow those of the state.

    Args:
        x: (T, C).
        weight: (C, K).
        state: (K - 1, C), the rows before x, oldest first.
        span: [1] is the number of rows that count; with one row, it counts.

    Returns:
        out (T, C), and the state after the rows that count (K - 1, C).
    """
    T = x.shape[0]
    count = min(int(span[1]), T) if T > 1 else 1
    joined = np.concatenate([state, x])                        # (K - 1 + T, C)
    sums = convolve(joined[None], weight, one_document(len(joined)))[0]  # (K - 1 + T, C)
    return silu(sums[len(state):]), joined[count:count + len(state)]


def short_convolution_backward_sum(x: Array, weight: Array, dout: Array, starts: Starts,
                                   PACKED: int = 0) -> Array:
    """Oracle of `short_convolution_backward_sum`: dout silu'(sum), (B, T, C)."""
    sums = convolve(x, weight, document_begins(starts, x.shape[1], PACKED))  # (B, T, C)
    s = (1 / (1 + np.exp(-sums))).astype(np.float32)           # (B, T, C)
    return dout * s * (1 + sums * (1 - s))


def short_convolution_backward_input(dx: Array, dsum: Array, weight: Array, starts: Starts,
                                     ACCUMULATE: int, PACKED: int = 0) -> Array:
    """Oracle of `short_convolution_backward_input`.

    Args:
        dx: (B, T, C), the gradient so far; added to when ACCUMULATE is 1.
        dsum: (B, T, C), gradient of the sums.
        weight: (C, K).
        starts, PACKED: as in the forward.
    """
    K = weight.shape[1]
    begins = document_begins(starts, dx.shape[1], PACKED)      # (B or 1, T)
    gradient = np.zeros_like(dx)
    for j in range(K):
        seen = sees_back(begins, K - 1 - j)[..., None]         # (B or 1, T, 1)
        later = np.where(seen, dsum, 0)[:, ::-1]               # (B, T, C), time reversed
        gradient += weight[:, j] * delayed(later, K - 1 - j)[:, ::-1]
    return dx + gradient if ACCUMULATE else gradient


def short_convolution_backward_weight(dweight: Array, dsum: Array, x: Array, starts: Starts,
                                      ACCUMULATE: int, PACKED: int = 0) -> Array:
    """Oracle of `short_convolution_backward_weight`.

    Args:
        dweight: (C, K), the gradient so far; added to when ACCUMULATE is 1.
        dsum: (B, T, C), gradient of the sums.
        x: (B, T, C), the forward's input.
        starts, PACKED: as in the forward.
    """
    K = dweight.shape[1]
    begins = document_begins(starts, x.shape[1], PACKED)       # (B or 1, T)
    gradient = np.stack([(dsum * before(x, K - 1 - j, begins)).sum(axis=(0, 1))
                         for j in range(K)], axis=1)           # (C, K)
    return dweight + gradient if ACCUMULATE else gradient


def convolve(x: Array, weight: Array, begins: Begins) -> Array:
    """sum[t] = sum over j of weight[c, j] x[t - (K - 1) + j] in t's document: (B, T, C)."""
    K = weight.shape[1]
    sums = np.zeros_like(x)
    for j in range(K):
        sums += weight[:, j] * before(x, K - 1 - j, begins)
    return sums


def before(x: Array, steps: int, begins: Begins) -> Array:
    """x that many positions before each one, zeros where that is in no or another document.

    Example:
        >>> x = np.array([[[1.0], [2.0], [3.0]]])
        >>> before(x, 1, np.array([[0, 0, 2]])).ravel().tolist()
        [0.0, 1.0, 0.0]
    """
    return np.where(sees_back(begins, steps)[..., None], delayed(x, steps), 0)


def delayed(x: Array, steps: int) -> Array:
    """x moved to later positions, zeros before it.

    Example:
        >>> delayed(np.array([[[1.0], [2.0], [3.0]]], np.float32), 1).ravel().tolist()
        [0.0, 1.0, 2.0]
    """
    moved = np.zeros_like(x)
    moved[:, steps:] = x[:, :max(x.shape[1] - steps, 0)]
    return moved


def silu(x: Array) -> Array:
    """x sigmoid(x)."""
    activations: Array = x / (1 + np.exp(-x))
    return activations
