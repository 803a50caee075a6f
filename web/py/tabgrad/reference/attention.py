"""Causal scaled dot-product attention with grouped queries: formulas and oracles.

For each head, with queries q, keys k and values v of one sequence:

    scores s[t, u] = SCALE q[t] . k[u]  where t sees u, else -1e30;  SCALE is 1 / sqrt(D) as a rule
    t sees u if u <= t and, with a WINDOW above 0, if t - u < WINDOW
    and, where a row is PACKED with several documents, if min(starts[t], t) <= u
    weights p = softmax(s) over u,  out = p v,  lse[t] = log sum_u exp(s[t, u])

The backward needs no saved weights: p[t, u] = exp(s[t, u] - lse[t]). With
delta[t] = dout[t] . out[t] and dp[t, u] = dout[t] . v[u], the gradient of the scores is
ds = p (dp - delta).

Source: Vaswani et al., "Attention is all you need", 2017; Dao et al., "FlashAttention", 2022
(the backward from the log-sum-exp); Ainslie et al., "GQA", 2023 (HQ query heads share HK key and
value heads).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Positions = NDArray[np.integer[Any]]
Starts = NDArray[np.uint32]
MASK = np.float32(-1e30)


def split_heads(qkv: Array, HQ: int, HK: int) -> tuple[Array, Array, Array]:
    """Unpacks queries, keys and values, and repeats each key head for its group of query heads.

    Args:
        qkv: (B, T, (HQ + 2 HK) D): all query heads, then all key heads, then all value heads.

    Returns:
        q, k, v, each (B, HQ, T, D). Query head h reads key head h // (HQ / HK).

    Example:
        >>> q, k, v = split_heads(np.zeros((2, 5, (4 + 2 * 2) * 8), np.float32), HQ=4, HK=2)
        >>> q.shape, k.shape, v.shape
        ((2, 4, 5, 8), (2, 4, 5, 8), (2, 4, 5, 8))
    """
    B, T, packed = qkv.shape
    D = packed // (HQ + 2 * HK)
    heads = qkv.reshape(B, T, HQ + 2 * HK, D).transpose(0, 2, 1, 3)  # (B, HQ + 2 HK, T, D)
    q, k, v = heads[:, :HQ], heads[:, HQ:HQ + HK], heads[:, HQ + HK:]
    group = HQ // HK
    return q, k.repeat(group, axis=1), v.repeat(group, axis=1)


def sees(t: Positions, u: Positions, WINDOW: int) -> NDArray[np.bool_]:
    """Whether position t sees position u: u <= t, and t - u < WINDOW if WINDOW is above 0.

    Example:
        >>> positions = np.arange(4)
        >>> sees(positions[:, None], positions, WINDOW=2).astype(int).tolist()
        [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    """
    past = u <= t
    return past & (t < u + WINDOW) if WINDOW else past


def seen_pairs(T: int, WINDOW: int, starts: Starts, PACKED: int) -> NDArray[np.bool_]:
    """Which positions see which: (B, 1, T, T), or (1, 1, T, T) where no row is packed.

    Example:
        >>> starts = np.array([[0, 0, 2, 2]], np.uint32)
        >>> seen_pairs(4, 0, starts, PACKED=1).astype(int)[0, 0].tolist()
        [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    """
    positions = np.arange(T)
    seen = sees(positions[:, None], positions, WINDOW)[None]           # (1, T, T)
    if PACKED:
        begins = np.minimum(starts, positions)                         # (B, T)
        seen = seen & (begins[:, :, None] <= positions)                # (B, T, T)
    return seen[:, None]


def masked_scores(q: Array, k: Array, SCALE: float, seen: NDArray[np.bool_]) -> Array:
    """SCALE q . k, with -1e30 where the query does not see the key.

    Args:
        q, k: (B, H, T, D).
        SCALE: of the products.
        seen: (B or 1, 1, T, T).

    Returns:
        (B, H, T, T).

    Example:
        >>> ones = np.ones((1, 1, 2, 4), np.float32)
        >>> masked_scores(ones, ones, SCALE=0.5, seen=np.tri(2, dtype=bool))[0, 0].tolist()
        [[2.0, -1.0000000150474662e+30], [2.0, 2.0]]
    """
    scores = q @ k.transpose(0, 1, 3, 2) * np.float32(SCALE)          # (B, H, T, T)
    return np.where(seen, scores, MASK).astype(np.float32)


def attention_forward(qkv: Array, starts: Starts, HQ: int, HK: int, SCALE: float, WINDOW: int,
                      PACKED: int = 0) -> tuple[Array, Array]:
    """Oracle of `attention_forward`.

    Args:
        qkv: (B, T, (HQ + 2 HK) D) float32.
        starts: (B, T), the first position that each one sees; not read unless PACKED is 1.
        HQ: query heads.
        HK: key and value heads; divides HQ.
        SCALE: of the scores.
        WINDOW: positions that one sees; 0 for all before it.
        PACKED: 1 where rows hold several documents.

    Returns:
        out (B, T, HQ D), and lse (B, HQ, T), the log-sum-exp of each row of scores.

    Example:
        >>> qkv = np.zeros((1, 3, 3 * 4), np.float32)
        >>> qkv[0, :, 8:] = [[0.0], [3.0], [6.0]]  # the values; equal scores average them
        >>> none = np.zeros(1, np.uint32)
        >>> attention_forward(qkv, none, HQ=1, HK=1, SCALE=0.5, WINDOW=0)[0][0, :, 0].tolist()
        [0.0, 1.5, 3.0]
    """
    q, k, v = split_heads(qkv, HQ, HK)
    B, _, T, D = q.shape
    seen = seen_pairs(T, WINDOW, starts, PACKED)        # (B or 1, 1, T, T)
    scores = masked_scores(q, k, SCALE, seen)           # (B, HQ, T, T)
    peak = scores.max(axis=-1, keepdims=True)           # (B, HQ, T, 1)
    weights = np.exp(scores - peak)                     # (B, HQ, T, T)
    total = weights.sum(axis=-1, keepdims=True)         # (B, HQ, T, 1)
    out = (weights / total) @ v                         # (B, HQ, T, D)
    lse = (peak + np.log(total))[..., 0]                # (B, HQ, T)
    return out.transpose(0, 2, 1, 3).reshape(B, T, HQ * D), lse


def attention_backward_query(dqkv: Array, qkv: Array, out: Array, lse: Array, dout: Array,
                             starts: Starts, HQ: int, HK: int, SCALE: float, WINDOW: int,
                             ACCUMULATE: int, PACKED: int = 0) -> tuple[Array, Array]:
    """Oracle of `attention_backward_query`: dq = SCALE ds k, and delta = dout . out.

    Args:
        dqkv: (B, T, (HQ + 2 HK) D), the gradient so far; only its query heads change.
        qkv, out, lse: the forward's input and results.
        dout: (B, T, HQ D), gradient of out.
        starts, HQ, HK, SCALE, WINDOW, PACKED: as in the forward.
        ACCUMULATE: 1 adds to dqkv, 0 writes it.

    Returns:
        dqkv as before with its query heads updated, and delta (B, HQ, T).
    """
    q, k, v = split_heads(qkv, HQ, HK)
    delta = row_sums(dout, out, HQ)                                   # (B, HQ, T)
    seen = seen_pairs(q.shape[2], WINDOW, starts, PACKED)             # (B or 1, 1, T, T)
    _, ds = weight_gradients(q, k, v, lse, delta, dout, SCALE, seen)  # (B, HQ, T, T)
    dq = ds @ k * np.float32(SCALE)                                   # (B, HQ, T, D)
    return write_heads(dqkv, dq, 0, ACCUMULATE), delta


def attention_backward_key_value(dqkv: Array, qkv: Array, lse: Array, delta: Array, dout: Array,
                                 starts: Starts, HQ: int, HK: int, SCALE: float, WINDOW: int,
                                 ACCUMULATE: int, PACKED: int = 0) -> Array:
    """Oracle of `attention_backward_key_value`: dk = SCALE ds^T q and dv = p^T dout.

    A key head's gradient is the sum over the query heads of its group.

    Args:
        dqkv: (B, T, (HQ + 2 HK) D), the gradient so far; its query heads do not change.
        qkv, lse: the forward's input and log-sum-exp.
        delta: (B, HQ, T), from `attention_backward_query`.
        dout: (B, T, HQ D), gradient of the forward's output.
        starts, HQ, HK, SCALE, WINDOW, PACKED: as in the forward.
        ACCUMULATE: 1 adds to dqkv, 0 writes it.

    Returns:
        dqkv as before with its key and value heads updated.
    """
    q, k, v = split_heads(qkv, HQ, HK)
    B, _, T, D = q.shape
    seen = seen_pairs(T, WINDOW, starts, PACKED)                      # (B or 1, 1, T, T)
    p, ds = weight_gradients(q, k, v, lse, delta, dout, SCALE, seen)  # (B, HQ, T, T)
    heads_dout = dout.reshape(B, T, HQ, D).transpose(0, 2, 1, 3)      # (B, HQ, T, D)
    dk = ds.transpose(0, 1, 3, 2) @ q * np.float32(SCALE)             # (B, HQ, T, D)
    dv = p.transpose(0, 1, 3, 2) @ heads_dout                         # (B, HQ, T, D)
    by_group = (B, HK, HQ // HK, T, D)
    dqkv = write_heads(dqkv, dk.reshape(by_group).sum(axis=2), HQ, ACCUMULATE)
    return write_heads(dqkv, dv.reshape(by_group).sum(axis=2), HQ + HK, ACCUMULATE)


def row_sums(dout: Array, out: Array, HQ: int) -> Array:
    """delta[b, h, t] = dout . out over the channels of one head: (B, HQ, T).

    Example:
        >>> row_sums(np.ones((1, 2, 6), np.float32), np.ones((1, 2, 6), np.float32), 2).tolist()
        [[[3.0, 3.0], [3.0, 3.0]]]
    """
    B, T, _ = out.shape
    sums: Array = (dout * out).reshape(B, T, HQ, -1).sum(axis=-1)      # (B, T, HQ)
    return sums.transpose(0, 2, 1)                                     # (B, HQ, T)


def weight_gradients(q: Array, k: Array, v: Array, lse: Array, delta: Array,
                     dout: Array, SCALE: float, seen: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Recomputes the weights p = exp(s - lse), and ds = p (dout v^T - delta).

    Args:
        q, k, v: (B, HQ, T, D).
        lse, delta: (B, HQ, T).
        dout: (B, T, HQ D).
        SCALE: of the scores.
        seen: (B or 1, 1, T, T).

    Returns:
        p and ds, each (B, HQ, T, T).
    """
    B, HQ, T, D = q.shape
    heads_dout = dout.reshape(B, T, HQ, D).transpose(0, 2, 1, 3)      # (B, HQ, T, D)
    p = np.exp(masked_scores(q, k, SCALE, seen) - lse[..., None])     # (B, HQ, T, T)
    dp = heads_dout @ v.transpose(0, 1, 3, 2)                         # (B, HQ, T, T)
    return p, p * (dp - delta[..., None])


def write_heads(packed: Array, heads: Array, first: int, accumulate: int) -> Array:
    """A copy of `packed` with heads `first`, `first + 1`, ... replaced or added to.

    Args:
        packed: (B, T, heads D).
        heads: (B, H, T, D).
        first: where the H heads begin.
        accumulate: 1 adds, 0 replaces.
    """
    B, H, T, D = heads.shape
    result = packed.copy()
    target = result[:, :, first * D:(first + H) * D]                  # (B, T, H D), a view
    update = heads.transpose(0, 2, 1, 3).reshape(B, T, H * D)
    target[...] = target + update if accumulate else update
    return result
