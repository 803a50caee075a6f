"""The gated delta rule as a plain recurrence: formulas and oracles.

Each value head has a state S (DK, DV), a memory from keys to values. With q, k at length one
(q also divided by sqrt(DK)), position after position:

    S = exp(decay) S                       what was learnt fades
    delta = beta (v - k S)                 the part of v that the memory does not know
    S = S + kᵀ delta
    out = q S

Value head h reads the queries and keys of head h // (HV / HK).

Source: Yang, Kautz, Hatamizadeh, "Gated delta networks", 2024; Schlag, Irie, Schmidhuber, "Linear
transformers are secretly fast weight programmers", 2021 (the delta rule).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
NORM_EPS = 1e-6  # under the root of the length of q and k


def delta_rule(qkv: Array, decay: Array, beta: Array, state: Array, HK: int, HV: int, DK: int,
               DV: int) -> tuple[Array, Array]:
    """The recurrence over whole sequences.

    Args:
        qkv: (B, T, 2 HK DK + HV DV): query heads, key heads, value heads.
        decay: (B, T, HV), never positive.
        beta: (B, T, HV), between 0 and 1.
        state: (B, HV, DK, DV), before the first position.

    Returns:
        out (B, T, HV DV), and the state after the last position (B, HV, DK, DV).

    Example:
        >>> one = np.ones((1, 1, 1), np.float32)
        >>> qkv = np.array([[[3.0, 0, 0, 0, 5.0, 0, 0, 0, 1.0, 2.0, 3.0, 4.0]]], np.float32)
        >>> out, state = delta_rule(qkv, -one, one, np.zeros((1, 1, 4, 4), np.float32), 1, 1, 4, 4)
        >>> out[0, 0].round(3).tolist(), state[0, 0, 0].round(3).tolist()
        ([0.5, 1.0, 1.5, 2.0], [1.0, 2.0, 3.0, 4.0])
    """
    q, k, v = split_heads(qkv, HK, HV, DK, DV)
    out = np.zeros_like(v)                                      # (B, T, HV, DV)
    for t in range(qkv.shape[1]):
        state = np.exp(decay[:, t, :, None, None]) * state      # (B, HV, DK, DV)
        known = np.einsum("bhd,bhdv->bhv", k[:, t], state)      # (B, HV, DV)
        delta = beta[:, t, :, None] * (v[:, t] - known)         # (B, HV, DV)
        state = state + k[:, t, :, :, None] * delta[:, :, None]  # (B, HV, DK, DV)
        out[:, t] = np.einsum("bhd,bhdv->bhv", q[:, t], state)  # (B, HV, DV)
    return out.reshape(*out.shape[:2], HV * DV), state


def delta_step(qkv: Array, decay: Array, beta: Array, state: Array, HK: int, HV: int, DK: int,
               DV: int) -> tuple[Array, Array]:
    """Oracle of `delta_step`: the recurrence over one position, without the axes B and T.

    Returns:
        out (HV DV,), and the new state (HV, DK, DV).
    """
    out, after = delta_rule(qkv[None, None], decay[None, None], beta[None, None], state[None],
                            HK, HV, DK, DV)
    return out[0, 0], after[0]


def split_heads(qkv: Array, HK: int, HV: int, DK: int, DV: int) -> tuple[Array, Array, Array]:
    """Unpacks queries, keys and values; q and k at length one, repeated for their value heads.

    Args:
        qkv: (B, T, 2 HK DK + HV DV).

    Returns:
        q and k (B, T, HV, DK), v (B, T, HV, DV).
    """
    B, T, _ = qkv.shape
    queries, keys, values = np.split(qkv, [HK * DK, 2 * HK * DK], axis=-1)
    q = unit_length(queries.reshape(B, T, HK, DK)) / np.float32(np.sqrt(DK))  # (B, T, HK, DK)
    k = unit_length(keys.reshape(B, T, HK, DK))                               # (B, T, HK, DK)
    group = HV // HK
    return q.repeat(group, axis=2), k.repeat(group, axis=2), values.reshape(B, T, HV, DV)


def unit_length(x: Array) -> Array:
    """x / sqrt(sum of x² + 1e-6), over the last axis.

    Example:
        >>> unit_length(np.array([3.0, 4.0])).round(3).tolist()
        [0.6, 0.8]
    """
    scaled: Array = x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + np.float32(NORM_EPS))
    return scaled
