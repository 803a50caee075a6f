"""Attention of new positions against a cache of the keys and values before them: the oracles.

The cache is a ring of R rows: the keys and values of position s lie in row s % R. The new rows are
written first, then row t, at position p = first + t, attends to the positions that it sees
(`reference.attention.sees`) and that the cache still holds:

    out[t] = sum over s of softmax(SCALE q[t] . k[s]) v[s]

Of the T rows only the first span[1] count. The rest is padding, so that one plan serves prompts of
any length: it is not written to the cache, and its results are zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.attention import MASK, sees

Array = NDArray[np.float32]
Words = NDArray[np.uint32]


def attention_append(cache: Array, qkv: Array, span: Words, HQ: int, HK: int) -> Array:
    """Oracle of `attention_append`: the rows that count go to (span[0] + t) % R.

    Args:
        cache: (R, 2 HK D) float32, for each position its key heads, then its value heads.
        qkv: (T, (HQ + 2 HK) D) float32, for each row its query heads, key heads, value heads.
        span: (2,) uint32: position of row 0, rows that count.
        HQ, HK: query heads; key and value heads.

    Returns:
        The cache with the new rows. Of more than R rows the last R stay.

    Example:
        >>> qkv = np.array([[0, 1, 2], [0, 3, 4], [0, 5, 6]], np.float32)  # one channel a head
        >>> attention_append(np.zeros((3, 2)), qkv, np.array([2, 2]), HQ=1, HK=1).tolist()
        [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]
    """
    first, rows = int(span[0]), min(int(span[1]), len(qkv))
    D = qkv.shape[1] // (HQ + 2 * HK)
    cache = cache.copy()
    for t in range(rows):
        cache[(first + t) % len(cache)] = qkv[t, HQ * D:]
    return cache


def attention_cached(cache: Array, qkv: Array, span: Words, HQ: int, HK: int, SCALE: float,
                     WINDOW: int) -> Array:
    """Oracle of `attention_cached`: every row that counts against what it sees.

    Args:
        cache: (R, 2 HK D) float32, with the new rows in it.
        qkv: (T, (HQ + 2 HK) D) float32; only the queries are read.
        span: (2,) uint32: position of row 0, rows that count.
        HQ, HK: query heads; key and value heads.
        SCALE: of the scores.
        WINDOW: positions that one sees; 0 for all that the cache holds.

    Returns:
        out (T, HQ D), zero in the rows that do not count.

    Example:
        >>> cache = np.array([[0, 3], [0, 5], [0, 9]], np.float32)  # equal keys: the mean
        >>> qkv = np.zeros((3, 3), np.float32)
        >>> span = np.array([1, 2])
        >>> attention_cached(cache, qkv, span, HQ=1, HK=1, SCALE=1.0, WINDOW=2).ravel().tolist()
        [4.0, 7.0, 0.0]
    """
    (T, packed), R = qkv.shape, len(cache)
    D, group = packed // (HQ + 2 * HK), HQ // HK
    first, rows = int(span[0]), min(int(span[1]), T)
    out = np.zeros((T, HQ * D), np.float32)
    if rows == 0:
        return out
    end = first + rows
    s = np.arange(max(0, first + 1 - WINDOW if WINDOW else 0, end - R), end)     # (S)
    held = cache[s % R].reshape(len(s), 2, HK, 1, D).transpose(1, 2, 3, 0, 4)    # (2, HK, 1, S, D)
    q = qkv[:rows, :HQ * D].reshape(rows, HK, group, D).transpose(1, 2, 0, 3)    # (HK, G, T, D)
    scores = q @ held[0].transpose(0, 1, 3, 2) * np.float32(SCALE)               # (HK, G, T, S)
    scores = np.where(sees(np.arange(first, end)[:, None], s, WINDOW), scores, MASK)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))                # (HK, G, T, S)
    mixed = weights @ held[1] / weights.sum(axis=-1, keepdims=True)              # (HK, G, T, D)
    out[:rows] = mixed.transpose(2, 0, 1, 3).reshape(rows, HQ * D)
    return out


def attention_decode(cache: Array, qkv: Array, span: Words, HQ: int, HK: int, SCALE: float,
                     WINDOW: int) -> tuple[Array, Array]:
    """Oracle of `attention_decode`: `attention_append`, then `attention_cached`, of one row.

    Args:
        cache: (R, 2 HK D) float32.
        qkv: ((HQ + 2 HK) D,) float32, the new position's query, key and value heads.
        span: (1,) uint32, the new position.
        HQ, HK, SCALE, WINDOW: as in `attention_cached`.

    Returns:
        out (HQ D,), and the cache with one more position.

    Example:
        >>> cache = np.zeros((2, 2), np.float32)
        >>> qkv = np.array([1.0, 0.0, 4.0], np.float32)  # the new key scores like the old one
        >>> out, cache = attention_decode(cache, qkv, np.array([1]), 1, 1, SCALE=1.0, WINDOW=0)
        >>> out.tolist(), cache.tolist()
        ([2.0], [[0.0, 0.0], [0.0, 4.0]])
    """
    one = np.array([span[0], 1], np.uint32)
    cache = attention_append(cache, qkv[None], one, HQ, HK)
    return attention_cached(cache, qkv[None], one, HQ, HK, SCALE, WINDOW)[0], cache
