"""The backward of the gated delta rule in chunks: formulas and oracles.

With the names of `reference.delta_chunks`, delta = beta error, S the state before a chunk and S'
the one after it, going from the last chunk to the first:

    ddelta[j] = sum over i >= j of attend[i, j] dout[i] + exp(G[C - 1] - G[j]) k[j] dS'
                - sum over i > j of erase[i, j] beta[i] ddelta[i]
    dS = exp(G[C - 1]) dS' + (exp(G) q)ᵀ dout - (exp(G) k)ᵀ (beta ddelta)

Then dbeta = ddelta . error and dv = beta ddelta, and with the products' gradients

    dattend[i, j] = dout[i] . delta[j],  derase[i, j] = -(beta ddelta)[i] . delta[j]

(both times exp(G[i] - G[j])) a query, a key that reads and a key that writes get

    dq[i] = exp(G[i]) S dout[i] + sum over j <= i of dattend[i, j] k[j]
    dread[i] = -exp(G[i]) S (beta ddelta)[i] + sum over j < i of derase[i, j] k[j]
    dwrite[j] = exp(G[C - 1] - G[j]) dS' delta[j]  into the state, and in the chunk
                sum over i > j of derase[i, j] k[i] + sum over i >= j of dattend[i, j] q[i]

G[i] comes with q[i] and the reading k[i] as exp(G[i]), with the writing k[i] as exp(-G[i]). A decay
is part of its own row's G and of all later ones of the chunk, and scales what the state holds:

    ddecay[t] = sum over i >= t of (q[i] . dq[i] + k[i] . (dread[i] - dwrite[i] in the chunk))
                + sum over j < t of k[j] . dwrite[j] into the state + exp(G[C - 1]) S . dS'

In a PACKED row, where exp(G), exp(G[C - 1] - G) and all products know no other document than their
own, the sum over i >= t ends with t's document; all else is as it is.

The product of a row with itself, dattend[i, i], does not decay: it is in dq and dwrite, but left
out of ddecay, where it would cancel only in exact arithmetic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.delta_chunks import chunk_begins, chunk_fades, pad_rows
from tabgrad.reference.delta_rule import NORM_EPS
from tabgrad.reference.documents import Starts, document_begins

Array = NDArray[np.float32]


def delta_backward_scan(dstate: Array, unit: Array, rates: Array, erase: Array, attend: Array,
                        dout: Array, HK: int, HV: int, DV: int,
                        CHUNK: int) -> tuple[Array, Array]:
    """Oracle of `delta_backward_scan`.

    Args:
        dstate: (1 + chunks, B, HV, DK, DV), of which the last is the gradient to start from.
        unit: (B, T4, 2 HK, DK).
        rates: (B, HV, T4, 4); erase, attend: (B, HV, T4, CHUNK).
        dout: (B, T, HV DV).

    Returns:
        ddelta (B, HV, T4, DV), and dstate with all its entries.
    """
    g = by_head(dout, HV)                                             # (B, HV, T4, DV)
    q, k = queries_and_keys(unit, HK, HV)                             # (B, HV, T4, DK)
    ddelta, dstate = np.zeros_like(g), dstate.copy()
    for slot in range(len(dstate) - 1, 0, -1):
        rows = slice((slot - 1) * CHUNK, min(slot * CHUNK, g.shape[2]))
        C = rows.stop - rows.start
        keep, fade, weight = (rates[:, :, rows, i, None] for i in range(3))
        n, m = (np.tril(x[:, :, rows, :C], least) for x, least in ((erase, -1), (attend, 0)))
        later = dstate[slot]                                          # (B, HV, DK, DV)
        part = turn(m) @ g[:, :, rows] + fade * (k[:, :, rows] @ later)  # (B, HV, C, DV)
        for i in reversed(range(C)):
            part[:, :, i] -= (turn(n)[:, :, i, None] @ (weight * part))[:, :, 0]
        ddelta[:, :, rows] = part
        dstate[slot - 1] = (keep[:, :, -1:] * later + turn(keep * q[:, :, rows]) @ g[:, :, rows]
                            - turn(keep * k[:, :, rows]) @ (weight * part))
    return ddelta, dstate


def delta_backward_products(rates: Array, errors: Array, ddelta: Array, decay: Array, dout: Array,
                            starts: Starts, HV: int, CHUNK: int,
                            PACKED: int = 0) -> tuple[Array, Array]:
    """Oracle of `delta_backward_products`.

    Args:
        rates: (B, HV, T4, 4); errors, ddelta: (B, HV, T4, DV).
        decay: (B, T, HV).
        dout: (B, T, HV DV).
        starts, PACKED: as in `delta_chunks.delta_products`.

    Returns:
        derase and dattend, each (B, HV, T4, CHUNK), zero where a row does not see the other.
    """
    weight = rates[..., 2, None]                                      # (B, HV, T4, 1)
    g, delta, derror = by_head(dout, HV), weight * errors, weight * ddelta
    decays = pad_rows(decay, axis=1).transpose(0, 2, 1)               # (B, HV, T4)
    begins = chunk_begins(starts, decay.shape[1], PACKED)             # (B or 1, T4)
    derase, dattend = (np.zeros((*decays.shape, CHUNK), np.float32) for _ in range(2))
    for start in range(0, decays.shape[2], CHUNK):
        rows = slice(start, start + CHUNK)
        _, fade = chunk_fades(decays[:, :, rows], begins[:, rows], start)  # (B, HV, C, C)
        C = fade.shape[-1]
        written = turn(delta[:, :, rows])                             # (B, HV, DV, C)
        derase[:, :, rows, :C] = np.tril(-derror[:, :, rows] @ written * fade, -1)
        dattend[:, :, rows, :C] = g[:, :, rows] @ written * fade
    return derase, dattend


def delta_backward_states(state: Array, dstate: Array, rates: Array, errors: Array, ddelta: Array,
                          dout: Array, HV: int, CHUNK: int) -> Array:
    """Oracle of `delta_backward_states`: what comes from the states.

    Args:
        state, dstate: (1 + chunks, B, HV, DK, DV).
        rates: (B, HV, T4, 4); errors, ddelta: (B, HV, T4, DV).
        dout: (B, T, HV DV).

    Returns:
        dq, dread, dwrite into the state, and zeros (B, HV, T4, 4, DK).
    """
    keep, fade, weight = (rates[..., i, None] for i in range(3))      # (B, HV, T4, 1)
    g = keep * by_head(dout, HV)                                      # (B, HV, T4, DV)
    read, written = -keep * weight * ddelta, fade * weight * errors   # (B, HV, T4, DV)
    dheads = np.zeros((*g.shape[:3], 4, state.shape[3]), np.float32)
    for slot in range(len(state) - 1):
        rows = slice(slot * CHUNK, (slot + 1) * CHUNK)
        dheads[:, :, rows, 0] = g[:, :, rows] @ turn(state[slot])
        dheads[:, :, rows, 1] = read[:, :, rows] @ turn(state[slot])
        dheads[:, :, rows, 2] = written[:, :, rows] @ turn(dstate[slot + 1])
    return dheads


def delta_backward_triangles(dheads: Array, unit: Array, erase: Array, attend: Array, HK: int,
                             HV: int, CHUNK: int) -> Array:
    """Oracle of `delta_backward_triangles`: adds what comes from the products.

    Args:
        dheads: (B, HV, T4, 4, DK).
        unit: (B, T4, 2 HK, DK).
        erase, attend: (B, HV, T4, CHUNK), the gradients derase and dattend.

    Returns:
        dheads with the sums over the other rows of its chunk added.
    """
    q, k = queries_and_keys(unit, HK, HV)                             # (B, HV, T4, DK)
    dheads = dheads.copy()
    for start in range(0, q.shape[2], CHUNK):
        rows = slice(start, min(start + CHUNK, q.shape[2]))
        of_keys, of_queries = (np.tril(x[:, :, rows, :rows.stop - start], -1)
                               for x in (erase, attend))
        dheads[:, :, rows, 0] += of_queries @ k[:, :, rows]
        dheads[:, :, rows, 1] += of_keys @ k[:, :, rows]
        dheads[:, :, rows, 3] += turn(of_keys) @ k[:, :, rows] + turn(of_queries) @ q[:, :, rows]
    return dheads


def delta_backward_rows(dbeta: Array, dheads: Array, unit: Array, errors: Array, ddelta: Array,
                        HK: int, HV: int, ACCUMULATE: int) -> tuple[Array, Array]:
    """Oracle of `delta_backward_rows`.

    Args:
        dbeta: (B, T, HV), the gradient so far; added to when ACCUMULATE is 1.
        dheads: (B, HV, T4, 4, DK).
        unit: (B, T4, 2 HK, DK); errors, ddelta: (B, HV, T4, DV).

    Returns:
        dbeta, and dsums (B, HV, T4, 2): the gradient of G in the chunk; k . dwrite into the state.
    """
    q, k = queries_and_keys(unit, HK, HV)                             # (B, HV, T4, DK)
    dq, dread, kept, dwrite = (dheads[..., i, :] for i in range(4))   # (B, HV, T4, DK)
    dsums = np.stack([(q * dq + k * (dread - dwrite)).sum(axis=-1),
                      (k * kept).sum(axis=-1)], axis=-1)              # (B, HV, T4, 2)
    gradient = (ddelta * errors).sum(axis=-1).transpose(0, 2, 1)[:, :dbeta.shape[1]]  # (B, T, HV)
    return (dbeta + gradient if ACCUMULATE else gradient), dsums


def delta_backward_decay(ddecay: Array, dsums: Array, state: Array, dstate: Array, rates: Array,
                         starts: Starts, CHUNK: int, ACCUMULATE: int, PACKED: int = 0) -> Array:
    """Oracle of `delta_backward_decay`.

    Args:
        ddecay: (B, T, HV), the gradient so far; added to when ACCUMULATE is 1.
        dsums: (B, HV, T4, 2).
        state, dstate: (1 + chunks, B, HV, DK, DV).
        rates: (B, HV, T4, 4).
        starts, PACKED: as in `delta_chunks.delta_products`.
    """
    T = ddecay.shape[1]
    begins = document_begins(starts, T, PACKED)                           # (B or 1, T)
    gradient = np.zeros_like(ddecay)
    for slot in range(len(state) - 1):
        rows = slice(slot * CHUNK, min((slot + 1) * CHUNK, T))
        in_chunk, kept = dsums[:, :, rows, 0], dsums[:, :, rows, 1]       # (B, HV, C)
        end = rates[:, :, :(slot + 1) * CHUNK][:, :, -1:, 0]              # (B, HV, 1)
        before = end * (state[slot] * dstate[slot + 1]).sum(axis=(2, 3))[..., None]
        written = kept.cumsum(axis=2) - kept                              # (B, HV, C)
        later = in_chunk.copy()                                           # (B, HV, C)
        for i in reversed(range(later.shape[2] - 1)):
            follows = begins[:, None, rows.start + i + 1] <= rows.start + i  # (B or 1, 1)
            later[:, :, i] += np.where(follows, later[:, :, i + 1], 0)
        gradient[:, rows] = (later + written + before).transpose(0, 2, 1)
    return ddecay + gradient if ACCUMULATE else gradient


def delta_backward_input(dqkv: Array, qkv: Array, dheads: Array, ddelta: Array, beta: Array,
                         unit: Array, dattend: Array, HK: int, HV: int, DK: int,
                         ACCUMULATE: int) -> Array:
    """Oracle of `delta_backward_input`.

    Args:
        dqkv: (B, T, 2 HK DK + HV DV), the gradient so far; added to when ACCUMULATE is 1.
        qkv: the forward's input.
        dheads: (B, HV, T4, 4, DK); ddelta: (B, HV, T4, DV).
        beta: (B, T, HV).
        unit: (B, T4, 2 HK, DK).
        dattend: (B, HV, T4, CHUNK), of which each row's product with itself is added here.
    """
    B, T, _ = qkv.shape
    q, k = queries_and_keys(unit, HK, HV)                             # (B, HV, T4, DK)
    place = np.arange(unit.shape[1]) % dattend.shape[3]               # (T4,)
    itself = np.take_along_axis(dattend, place[None, None, :, None], axis=3)  # (B, HV, T4, 1)
    x = qkv[:, :, :2 * HK * DK].reshape(B, T, 2, HK, DK)              # queries, then keys
    both = np.stack([dheads[..., 0, :] + itself * k,
                     dheads[..., 1:, :].sum(axis=3) + itself * q])[:, :, :, :T]
    grouped = both.reshape(2, B, HK, HV // HK, T, DK).sum(axis=3)     # (2, B, HK, T, DK)
    dy = grouped.transpose(1, 3, 0, 2, 4)                             # (B, T, 2, HK, DK)
    inverse = 1 / np.sqrt((x * x).sum(axis=-1, keepdims=True) + np.float32(NORM_EPS))
    y = x * inverse
    dx = inverse * (dy - y * (y * dy).sum(axis=-1, keepdims=True))    # (B, T, 2, HK, DK)
    dx[:, :, 0] /= np.float32(np.sqrt(DK))
    dv = beta[..., None] * ddelta.transpose(0, 2, 1, 3)[:, :T]        # (B, T, HV, DV)
    gradient = np.concatenate([dx.reshape(B, T, -1), dv.reshape(B, T, -1)], axis=-1)
    return dqkv + gradient if ACCUMULATE else gradient


def by_head(rows: Array, HV: int) -> Array:
    """(B, T, HV DV) -> (B, HV, T up to a multiple of 4, DV)."""
    B, T, _ = rows.shape
    return pad_rows(rows.reshape(B, T, HV, -1), axis=1).transpose(0, 2, 1, 3)


def queries_and_keys(unit: Array, HK: int, HV: int) -> tuple[Array, Array]:
    """(B, T4, 2 HK, DK) -> queries and keys of every value head, each (B, HV, T4, DK)."""
    q, k = (part.repeat(HV // HK, axis=2).transpose(0, 2, 1, 3)
            for part in np.split(unit, 2, axis=2))
    return q, k


def turn(x: Array) -> Array:
    """The last two axes exchanged."""
    return x.swapaxes(-1, -2)
