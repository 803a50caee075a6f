"""Rotary positions, with an RMS norm of each head before: formulas and oracles.

A head of D channels is a query or a key. With the gain of its kind and a mean over its channels:

    rstd = 1 / sqrt(mean(x²) + EPS),  xhat = x rstd,  y = xhat (OFFSET + gain)

and then each pair (y[i], y[i + RD / 2]) of the first RD channels turns by its position's angle:

    out[i] = y[i] cos - y[i + RD / 2] sin,  out[i + RD / 2] = y[i + RD / 2] cos + y[i] sin

The turn's backward is the turn back. Value heads are copied.

Source: Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021; the norm:
Henry et al., "Query-key normalization for transformers", 2020.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]
Positions = NDArray[np.uint32]


def rotary(qkv: Array, table: Array, span: Positions, HQ: int, HK: int, D: int,
           DIRECTION: float = 1.0, out: Array | None = None, ACCUMULATE: int = 0) -> Array:
    """Oracle of `rotary`.

    Args:
        qkv: (B, T, (HQ + 2 HK) D), query, key and value heads.
        table: (R, RD), cosines, then sines, of each position.
        span: the position of t = 0. Beyond the table its last row is taken.
        HQ, HK, D: query heads, key heads, channels of a head.
        DIRECTION: 1, or -1 to turn back.
        out: added to when ACCUMULATE is 1.

    Returns:
        Like qkv.

    Example:
        >>> quarter = np.array([[0.0, 1.0]], np.float32)
        >>> heads = np.array([[[1, 2, 3, 4, 5, 6]]], np.float32)
        >>> rotary(heads, quarter, np.zeros(1, np.uint32), HQ=1, HK=1, D=2).tolist()
        [[[-2.0, 1.0, -4.0, 3.0, 5.0, 6.0]]]
    """
    heads = _heads(qkv, D)                                     # (B, T, HQ + 2 HK, D)
    turned = heads.copy()
    turned[:, :, :HQ + HK] = _turn(heads[:, :, :HQ + HK], table, span, DIRECTION)
    if ACCUMULATE and out is not None:
        turned += _heads(out, D)
    return turned.reshape(qkv.shape).astype(np.float32)


def rotary_norm_forward(qkv: Array, table: Array, span: Positions, query_norm: Array,
                        key_norm: Array, HQ: int, HK: int, D: int, EPS: float,
                        OFFSET: float) -> tuple[Array, Array]:
    """Oracle of `rotary_norm_forward`.

    Args:
        qkv, table, span, HQ, HK, D: as for `rotary`.
        query_norm, key_norm: (D,), the gains less OFFSET.
        EPS: added to the mean of the squares.
        OFFSET: added to the gains.

    Returns:
        out, like qkv, and rstd (B, T, HQ + HK).
    """
    heads = _heads(qkv, D)                                     # (B, T, HQ + 2 HK, D)
    x = heads[:, :, :HQ + HK]                                  # (B, T, HQ + HK, D)
    rstd = 1 / np.sqrt((x**2).mean(axis=-1) + EPS)             # (B, T, HQ + HK)
    y = x * rstd[..., None] * _gains(query_norm, key_norm, HQ, HK, OFFSET)
    out = heads.copy()
    out[:, :, :HQ + HK] = _turn(y, table, span, 1.0)
    return out.reshape(qkv.shape).astype(np.float32), rstd.astype(np.float32)


def rotary_norm_backward_input(dqkv: Array, dout: Array, qkv: Array, rstd: Array, table: Array,
                               span: Positions, query_norm: Array, key_norm: Array, HQ: int,
                               HK: int, D: int, OFFSET: float, ACCUMULATE: int) -> Array:
    """Oracle of `rotary_norm_backward_input`: rstd (g - xhat mean(g xhat)), g = dy (OFFSET + gain).

    Args:
        dqkv: like qkv, the gradient so far.
        dout: like qkv, gradient of the result.
        rstd: (B, T, HQ + HK), from the forward; the rest as for `rotary_norm_forward`.
        ACCUMULATE: 1 adds to dqkv, 0 writes it.

    Returns:
        dqkv.
    """
    gradient = _heads(dout, D)                                 # (B, T, HQ + 2 HK, D)
    dy = _turn(gradient[:, :, :HQ + HK], table, span, -1.0)    # (B, T, HQ + HK, D)
    xhat = _heads(qkv, D)[:, :, :HQ + HK] * rstd[..., None]    # (B, T, HQ + HK, D)
    g = dy * _gains(query_norm, key_norm, HQ, HK, OFFSET)      # (B, T, HQ + HK, D)
    along = (g * xhat).mean(axis=-1, keepdims=True)            # (B, T, HQ + HK, 1)
    gradient[:, :, :HQ + HK] = rstd[..., None] * (g - xhat * along)
    if ACCUMULATE:
        gradient += _heads(dqkv, D)
    return gradient.reshape(qkv.shape).astype(np.float32)


def rotary_norm_backward_gain(dgain: Array, dout: Array, qkv: Array, rstd: Array, table: Array,
                              span: Positions, HQ: int, HK: int, D: int, KEYS: int,
                              ACCUMULATE: int) -> Array:
    """Oracle of `rotary_norm_backward_gain`: the sum of dy xhat over the heads of one kind.

    Args:
        dgain: (D,), the gradient so far.
        KEYS: 1 for the gain of the keys, 0 for that of the queries.
        ACCUMULATE: 1 adds, 0 writes; the rest as for `rotary_norm_backward_input`.

    Returns:
        dgain (D,).
    """
    some = slice(HQ, HQ + HK) if KEYS else slice(0, HQ)
    dy = _turn(_heads(dout, D)[:, :, some], table, span, -1.0)  # (B, T, heads, D)
    xhat = _heads(qkv, D)[:, :, some] * rstd[:, :, some, None]  # (B, T, heads, D)
    total = (dy * xhat).sum(axis=(0, 1, 2))                     # (D,)
    gradient: Array = (dgain + total if ACCUMULATE else total).astype(np.float32)
    return gradient


def _heads(packed: Array, D: int) -> Doubles:
    """(B, T, H D) -> (B, T, H, D), a float64 copy."""
    return packed.reshape(*packed.shape[:2], -1, D).astype(np.float64)


def _gains(query_norm: Array, key_norm: Array, HQ: int, HK: int, OFFSET: float) -> Any:
    """OFFSET + the gain of each query and key head: (HQ + HK, D)."""
    return OFFSET + np.stack([query_norm] * HQ + [key_norm] * HK)


def _turn(heads: Doubles, table: Array, span: Positions, direction: float) -> Doubles:
    """The first RD channels of every head, turned by its position: (B, T, H, D)."""
    rows = np.minimum(int(span[0]) + np.arange(heads.shape[1]), len(table) - 1)
    cosines, sines = np.split(table[rows].astype(np.float64)[:, None], 2, axis=-1)  # (T, 1, RD / 2)
    half = cosines.shape[-1]
    a, b = heads[..., :half], heads[..., half:2 * half]        # (B, T, H, RD / 2)
    sines = direction * sines
    return np.concatenate([a * cosines - b * sines, b * cosines + a * sines,
                           heads[..., 2 * half:]], axis=-1)
