"""The gated delta rule in chunks of C rows, which makes it matrix products: oracles.

Inside a chunk, let G[t] be the sum of the decays up to row t, S the state before the chunk, and

    erase[i, j] = exp(G[i] - G[j]) k[i] . k[j]   for j < i
    attend[i, j] = exp(G[i] - G[j]) q[i] . k[j]  for j <= i

Unrolling the recurrence (`reference.delta_rule`), the error that row i corrects is

    error[i] = v[i] - exp(G[i]) k[i] S - sum over j < i of erase[i, j] beta[j] error[j]

a triangular system with one right side for each of the DV columns; with delta = beta error,

    out = exp(G) q S + attend delta
    new S = exp(G[C - 1]) S + sum over j of exp(G[C - 1] - G[j]) k[j]ᵀ delta[j]

Where a row of the batch is PACKED, it holds several documents, of which none sees another. Then G
begins anew with a document; erase and attend are 0 for rows of two documents; exp(G) is 0 for the
rows of a document that began in the chunk, which S does not reach; and exp(G[C - 1] - G[j]) is 0
unless row j is of the last row's document, the only one that is left in the new S.

Rows are stored up to a multiple of four; those that do not count are zeros and change nothing.

Source: Yang, Wang, Zhang, Shen, Kim, "Parallelizing linear transformers with the delta rule over
sequence length", 2024.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.delta_rule import unit_length
from tabgrad.reference.documents import Begins, Starts, document_begins, sums_in_documents

Array = NDArray[np.float32]
Indices = NDArray[np.uint32]


def delta_normalise(qkv: Array, span: Indices, HK: int, HV: int, DK: int, DV: int) -> Array:
    """Oracle of `delta_normalise`.

    Args:
        qkv: (B, T, 2 HK DK + HV DV).
        span: [1] is the number of rows that count.

    Returns:
        (B, T up to a multiple of 4, 2 HK, DK): query heads at length 1 / sqrt(DK), then key heads
        at length 1; zeros in rows that do not count.
    """
    B, T, _ = qkv.shape
    heads = qkv[:, :, :2 * HK * DK].reshape(B, T, 2 * HK, DK)
    unit = unit_length(heads)
    unit[:, :, :HK] /= np.float32(np.sqrt(DK))
    unit[:, int(span[1]):] = 0
    return pad_rows(unit, axis=1)


def delta_products(unit: Array, decay: Array, beta: Array, span: Indices, starts: Starts, HK: int,
                   CHUNK: int, PACKED: int = 0) -> tuple[Array, Array, Array]:
    """Oracle of `delta_products`.

    Args:
        unit: (B, T4, 2 HK, DK), T4 being T up to a multiple of 4.
        decay, beta: (B, T, HV).
        span: [1] is the number of rows that count.
        starts: (B, T), the first position of each one's document; not read unless PACKED is 1.
        PACKED: 1 where rows hold several documents.

    Returns:
        erase and attend (B, HV, T4, CHUNK), zero where a row does not see the other; and rates
        (B, HV, T4, 4): exp(G), exp(G at the chunk's end - G), beta, 1 where the row counts.
    """
    B, T, HV = decay.shape
    counts = (np.arange(T) < span[1]).astype(np.float32)[:, None]          # (T, 1)
    g, weight = (pad_rows(np.where(counts > 0, x, 0), axis=1) for x in (decay, beta))
    T4 = unit.shape[1]
    begins = chunk_begins(starts, T, PACKED)                               # (B or 1, T4)
    q, k = (part.repeat(HV // HK, axis=2).transpose(0, 2, 1, 3)            # (B, HV, T4, DK)
            for part in np.split(unit, 2, axis=2))
    erase, attend = (np.zeros((B, HV, T4, CHUNK), np.float32) for _ in range(2))
    rates = np.zeros((B, HV, T4, 4), np.float32)
    rates[..., 2] = weight.transpose(0, 2, 1)
    rates[..., 3] = pad_rows(counts, axis=0)[:, 0]
    for start in range(0, T4, CHUNK):
        rows = slice(start, start + CHUNK)
        began = begins[:, rows]                                            # (B or 1, C)
        G, fade = chunk_fades(g[:, rows].transpose(0, 2, 1), began, start)
        C = G.shape[-1]
        reached = (began < start)[:, None]                                 # (B or 1, 1, C)
        lasts = (began[:, -1:] <= np.arange(start, start + C))[:, None]    # (B or 1, 1, C)
        turned = k[:, :, rows].transpose(0, 1, 3, 2)                       # (B, HV, DK, C)
        erase[:, :, rows, :C] = np.tril(k[:, :, rows] @ turned * fade, -1)
        attend[:, :, rows, :C] = q[:, :, rows] @ turned * fade
        rates[:, :, rows, 0] = reached * np.exp(G)
        rates[:, :, rows, 1] = lasts * np.exp(np.where(lasts, G[..., -1:] - G, 0))
    return erase, attend, rates


def delta_scan(state: Array, unit: Array, qkv: Array, rates: Array, erase: Array, attend: Array,
               HK: int, HV: int, DV: int, KEEP: int, CHUNK: int) -> tuple[Array, Array, Array]:
    """Oracle of `delta_scan`.

    Args:
        state: (1 + KEEP * chunks, B, HV, DK, DV): [0] is the state before the first row.
        unit: (B, T4, 2 HK, DK).
        qkv: (B, T, 2 HK DK + HV DV), of which the values are read.
        rates: (B, HV, T4, 4); erase, attend: (B, HV, T4, CHUNK).

    Returns:
        out (B, T, HV DV); errors (B, HV, T4, DV); and the states: before each chunk and after the
        last if KEEP is 1, else only after the last.
    """
    B, T, _ = qkv.shape
    T4 = unit.shape[1]
    values = pad_rows(qkv[:, :, -HV * DV:].reshape(B, T, HV, DV), axis=1).transpose(0, 2, 1, 3)
    q, k = (part.repeat(HV // HK, axis=2).transpose(0, 2, 1, 3)            # (B, HV, T4, DK)
            for part in np.split(unit, 2, axis=2))
    out, errors = np.zeros_like(values), np.zeros_like(values)             # (B, HV, T4, DV)
    states = [state[0]]
    for start in range(0, T4, CHUNK):
        rows = slice(start, min(start + CHUNK, T4))
        keep, fade, weight, counts = (rates[:, :, rows, i, None] for i in range(4))
        S, C = states[-1], rows.stop - start                               # (B, HV, DK, DV)
        left = values[:, :, rows] - keep * (k[:, :, rows] @ S)             # (B, HV, C, DV)
        error = np.zeros_like(left)
        for i in range(C):
            before = (erase[:, :, start + i, None, :C] @ (weight * error))[:, :, 0]
            error[:, :, i] = np.where(counts[:, :, i] > 0, left[:, :, i] - before, 0)
        delta = weight * error                                             # (B, HV, C, DV)
        out[:, :, rows] = keep * (q[:, :, rows] @ S) + np.tril(attend[:, :, rows, :C]) @ delta
        errors[:, :, rows] = error
        states.append(keep[:, :, -1:] * S
                      + k[:, :, rows].transpose(0, 1, 3, 2) @ (fade * delta))
    flat = out.transpose(0, 2, 1, 3)[:, :T].reshape(B, T, HV * DV)
    return flat, errors, np.stack(states) if KEEP else states[-1][None]


def chunk_begins(starts: Starts, T: int, PACKED: int) -> Begins:
    """`document_begins` of the stored rows; those that fill up the last four are of its document.

    Example:
        >>> chunk_begins(np.array([[0, 0, 2]], np.uint32), 3, PACKED=1).tolist()
        [[0, 0, 2, 2]]
    """
    return np.pad(document_begins(starts, T, PACKED), [(0, 0), (0, -T % 4)], mode="edge")


def chunk_fades(decay: Array, begins: Begins, start: int) -> tuple[Array, Array]:
    """G, and what is left at row i of what row j wrote: exp(G[i] - G[j]), 0 where i sees no j.

    Args:
        decay: (B, HV, C), of the rows of one chunk.
        begins: (B or 1, C), where their documents begin.
        start: the chunk's first row.

    Returns:
        (B, HV, C) and (B, HV, C, C).

    Example:
        >>> G, fade = chunk_fades(np.full((1, 1, 3), -1.0), np.array([[0, 0, 2]]), start=0)
        >>> G.tolist(), fade.round(2).tolist()
        ([[[-1.0, -2.0, -1.0]]], [[[[1.0, 0.0, 0.0], [0.37, 1.0, 0.0], [0.0, 0.0, 1.0]]]])
    """
    places = start + np.arange(decay.shape[2])                             # (C,)
    G = sums_in_documents(decay, begins, start)                            # (B, HV, C)
    seen = (begins[..., None] <= places) & (places <= places[:, None])     # (B or 1, C, C)
    apart = np.where(seen[:, None], G[..., None] - G[..., None, :], 0)     # (B, HV, C, C)
    return G, np.where(seen[:, None], np.exp(apart), 0)


def pad_rows(x: Array, axis: int) -> Array:
    """Zeros after the last row of an axis, up to a multiple of four rows.

    Example:
        >>> pad_rows(np.ones((2, 5)), axis=1).sum(axis=0).tolist()
        [2.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0]
    """
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, -x.shape[axis] % 4)
    return np.pad(x, widths)
