"""Softmax cross-entropy: formulas and oracles.

For a row of logits x and its target y, with lse = log sum_c exp(x[c]) (computed from the row's
largest logit, so that nothing overflows):

    loss = -log softmax(x)[y] = lse - x[y]

The mean over N rows has the gradient dx = (softmax(x) - onehot(y)) dloss / N: softmax and
cross-entropy are fused because their gradients together are simpler than either alone.

With IGNORES = 1 a target that is no column (`data.source.IGNORED`, as a rule) does not count: the
loss and gradient of its row are 0, and the gradient is that of the sum over the rows that count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Ids = NDArray[np.uint32]

def cross_entropy_forward(logits: Array, targets: Ids,
                          IGNORES: int = 0) -> tuple[Array, Array]:
    """Oracle of `cross_entropy_forward`.

    Args:
        logits: (N, V) float32.
        targets: (N,) uint32, below V where the row counts.
        IGNORES: 1 lets targets be no column.

    Returns:
        losses and lse, each (N,), in nats.

    Example:
        >>> losses, _ = cross_entropy_forward(np.zeros((1, 256), np.float32), np.array([7]))
        >>> round(float(losses[0]), 4)  # ln 256: knowing nothing about one of 256 bytes
        5.5452
    """
    peak = logits.max(axis=-1, keepdims=True)                          # (N, 1)
    total = np.exp(logits - peak).sum(axis=-1, keepdims=True)          # (N, 1)
    lse = (peak + np.log(total))[:, 0]                                 # (N,)
    counts, columns = counted(targets, logits.shape[1], IGNORES)       # (N,) each
    losses = lse - logits[np.arange(len(targets)), columns]            # (N,)
    return np.where(counts, losses, np.float32(0)), lse


def counted(targets: Ids, V: int, IGNORES: int) -> tuple[NDArray[np.bool_], Ids]:
    """Which rows count, and a column for each row: (N,) and (N,).

    Example:
        >>> counts, columns = counted(np.array([2, 0xFFFFFFFF], np.uint32), 3, IGNORES=1)
        >>> counts.tolist(), columns.tolist()
        ([True, False], [2, 0])
    """
    counts = (targets < V) | (not IGNORES)
    return counts, np.where(counts, targets, 0).astype(np.uint32)


def cross_entropy_mean(losses: Array) -> Array:
    """Oracle of `cross_entropy_mean`: (N,) -> (1,).

    Example:
        >>> cross_entropy_mean(np.array([1.0, 3.0], np.float32)).tolist()
        [2.0]
    """
    mean: Array = losses.mean(keepdims=True)                           # (1)
    return mean


def cross_entropy_backward(dlogits: Array, logits: Array, targets: Ids, lse: Array, dloss: Array,
                           ACCUMULATE: int, IGNORES: int = 0) -> Array:
    """Oracle of `cross_entropy_backward`.

    Args:
        dlogits: (N, V), the gradient so far.
        logits, targets, lse: the forward's inputs and its log-sum-exp.
        dloss: (1,), gradient of the loss.
        ACCUMULATE: 1 adds to dlogits, 0 writes it.
        IGNORES: 1 for the sum over the rows that count, 0 for the mean of all.

    Returns:
        dlogits (N, V).

    Example:
        >>> zero, ln2 = np.zeros((1, 2), np.float32), np.log(np.array([2.0], np.float32))
        >>> one = np.ones(1, np.float32)
        >>> cross_entropy_backward(zero, zero, np.array([1]), ln2, one, ACCUMULATE=0).tolist()
        [[0.5, -0.5]]
    """
    gradient: Array = np.exp(logits - lse[:, None])                    # (N, V), the softmax
    counts, columns = counted(targets, logits.shape[1], IGNORES)       # (N,) each
    gradient[np.arange(len(targets)), columns] -= 1.0
    share = dloss[0] if IGNORES else dloss[0] / np.float32(len(targets))
    gradient *= np.where(counts, share, np.float32(0))[:, None]        # (N, 1)
    return dlogits + gradient if ACCUMULATE else gradient
