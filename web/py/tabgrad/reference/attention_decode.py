"""Attention of one new position against the keys and values of all before it: the oracle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def attention_decode(cache: Array, qkv: Array, position: NDArray[np.uint32], HQ: int,
                     HK: int) -> tuple[Array, Array]:
    """Oracle of `attention_decode`: softmax(q k / sqrt(D)) v over positions 0 to `position`.

    Args:
        cache: (S, 2 HK D) float32, for each position its key heads, then its value heads.
        qkv: ((HQ + 2 HK) D,), the new position's query heads, key heads, value heads.
        position: (1,) uint32, the new position; its keys and values are written there.
        HQ, HK: query heads; key and value heads.

    Returns:
        out (HQ D,), and the cache with one more position.

    Example:
        >>> cache = np.zeros((2, 2), np.float32)
        >>> qkv = np.array([1.0, 0.0, 4.0], np.float32)  # the new key scores like the old one
        >>> out, cache = attention_decode(cache, qkv, np.array([1]), HQ=1, HK=1)
        >>> out.tolist(), cache.tolist()
        ([2.0], [[0.0, 0.0], [0.0, 4.0]])
    """
    D = qkv.shape[0] // (HQ + 2 * HK)
    now = int(position[0])
    cache = cache.copy()
    cache[now] = qkv[HQ * D:]
    q = qkv[:HQ * D].reshape(HK, HQ // HK, D)                       # (HK, HQ / HK, D)
    seen = cache[:now + 1].reshape(now + 1, 2, HK, D)               # (T, 2, HK, D)
    k, v = seen[:, 0].transpose(1, 0, 2), seen[:, 1].transpose(1, 0, 2)  # (HK, T, D)
    scores = q @ k.transpose(0, 2, 1) / np.float32(np.sqrt(D))      # (HK, HQ / HK, T)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))   # (HK, HQ / HK, T)
    out = weights @ v / weights.sum(axis=-1, keepdims=True)         # (HK, HQ / HK, D)
    return out.reshape(-1), cache
