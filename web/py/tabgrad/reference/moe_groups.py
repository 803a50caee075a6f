"""Mixture of experts for many rows: the rows of one expert are put together, then multiplied.

A pair is a row and one of its TOP experts. The pairs are sorted by expert into tiles of T
positions; every tile belongs to one expert, so that a tile times a matrix is a plain product.
Positions that no pair takes have row 0 and weight 0: what they give counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.moe import silu

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ids = NDArray[np.uint32]


def moe_group(experts: Ids, weights: Floats, TOP: int, T: int, TILES: int,
              E: int) -> tuple[Ids, Floats, Ids, Ids, Ids]:
    """A counting sort of the pairs by expert, into tiles of T positions.

    Args:
        experts: (A), the expert of each pair; pair a belongs to row a // TOP.
        weights: (A).

    Returns:
        The row of each position (TILES T); its weight (TILES T); the position of each pair (A);
        the expert of each tile (TILES), E where it is not used; each expert's first tile, then the
        number of tiles used (E + 1).

    Example:
        >>> rows, weight, place, tile_expert, first_tile = moe_group(
        ...     np.array([1, 0, 1]), np.ones(3), TOP=1, T=2, TILES=3, E=2)
        >>> rows.tolist(), place.tolist(), tile_expert.tolist(), first_tile.tolist()
        ([1, 0, 0, 2, 0, 0], [2, 0, 3], [0, 1, 2], [0, 1, 2])
    """
    rows = np.zeros(TILES * T, np.uint32)
    weight = np.zeros(TILES * T, np.float32)
    place = np.zeros(len(experts), np.uint32)
    tiles = -(-np.bincount(experts, minlength=E) // T)               # (E)
    first_tile = np.concatenate([[0], np.cumsum(tiles)])             # (E + 1)
    tile_expert = np.full(TILES, E)
    tile_expert[:first_tile[E]] = np.repeat(np.arange(E), tiles)
    for e in range(E):
        pairs = np.flatnonzero(experts == e)
        positions = first_tile[e] * T + np.arange(len(pairs))
        place[pairs] = positions
        rows[positions] = pairs // TOP
        weight[positions] = weights[pairs]
    return rows, weight, place, tile_expert.astype(np.uint32), first_tile.astype(np.uint32)


def _positions(tile_expert: Ids, E: int, T: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each expert that has tiles, and the positions of its tiles."""
    of_position = np.repeat(tile_expert, T)                          # (TILES T)
    for expert in np.unique(tile_expert):
        if expert < E:
            yield int(expert), np.flatnonzero(of_position == expert)


def _product(a: Floats, b: Doubles, rows: Ids, tile_expert: Ids, E: int, FIRST: int, GATHER: int,
             out: Floats | None) -> Floats:
    """Each position's row of `a` times the matrix (K, N) of its expert, added to `out`."""
    result = np.zeros((len(rows), b.shape[2]))                       # (M, N)
    for expert, positions in _positions(tile_expert, E, len(rows) // len(tile_expert)):
        if FIRST <= expert < FIRST + len(b):
            source = rows[positions] if GATHER else positions
            result[positions] = a[source].astype(np.float64) @ b[expert - FIRST]
    return (result if out is None else result + out).astype(np.float32)


def moe_matmul_nt(a: Floats, b: Floats, rows: Ids, tile_expert: Ids, E: int, FIRST: int = 0,
                  GATHER: int = 0, out: Floats | None = None, ACCUMULATE: int = 0) -> Floats:
    """Rows times the transpose of their expert's matrix.

    Args:
        a: (R, K) with GATHER, where position p takes row rows[p]; else (M, K).
        b: (COUNT, N, K), the matrices of the experts FIRST, FIRST + 1, ...; the positions of other
            experts count as zero.
        rows: (M), the row of each position.
        tile_expert: (M / T), the expert of each tile; E where it is not used.
        out: (M, N), added to when ACCUMULATE is 1.

    Returns:
        (M, N); on a GPU the positions of unused tiles are undefined.
    """
    return _product(a, b.astype(np.float64).transpose(0, 2, 1), rows, tile_expert, E, FIRST,
                    GATHER, out if ACCUMULATE else None)


def moe_matmul_nn(a: Floats, b: Floats, rows: Ids, tile_expert: Ids, E: int, FIRST: int = 0,
                  GATHER: int = 0, out: Floats | None = None, ACCUMULATE: int = 0) -> Floats:
    """Rows times their expert's matrix; as `moe_matmul_nt`, with b (COUNT, K, N)."""
    return _product(a, b.astype(np.float64), rows, tile_expert, E, FIRST, GATHER,
                    out if ACCUMULATE else None)


def moe_matmul_tn(a: Floats, b: Floats, rows: Ids, first_tile: Ids, T: int, COUNT: int,
                  FIRST: int = 0, GATHER_A: int = 0, out: Floats | None = None,
                  ACCUMULATE: int = 0) -> Floats:
    """Gradient of each expert's matrix: the sum of a[p]ᵀ b[p] over its positions p.

    Args:
        a: (R, M) with GATHER_A, where position p takes row rows[p]; else (P, M).
        b: (P, N) with GATHER_A; else (R, N).
        rows: (P), the row of each position.
        first_tile: (E + 1), each expert's first tile, then the number of tiles used.
        out: (COUNT, M, N), added to when ACCUMULATE is 1.

    Returns:
        (COUNT, M, N), of the experts FIRST, FIRST + 1, ...
    """
    result = np.zeros((COUNT, a.shape[1], b.shape[1]))
    for e in range(COUNT):
        start, end = int(first_tile[FIRST + e]) * T, int(first_tile[FIRST + e + 1]) * T
        positions = np.arange(start, end)
        left = a[rows[positions] if GATHER_A else positions]         # (positions, M)
        right = b[positions if GATHER_A else rows[positions]]        # (positions, N)
        result[e] = left.astype(np.float64).T @ right.astype(np.float64)
    if ACCUMULATE and out is not None:
        result += out
    return result.astype(np.float32)


def moe_gated_forward(gate_up: Floats, weight: Floats) -> Floats:
    """weight silu(gate) * up.

    Args:
        gate_up: (P, 2 F), in each row the gates, then the ups.
        weight: (P).

    Returns:
        (P, F).
    """
    gate, up = np.split(gate_up.astype(np.float64), 2, axis=1)       # (P, F) each
    return (weight[:, None] * silu(gate) * up).astype(np.float32)


def moe_gated_backward(gate_up: Floats, dout: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Gradients of `moe_gated_forward`.

    silu'(x) = s + x s (1 - s), with s = sigmoid(x).

    Args:
        gate_up: (P, 2 F), what the forward read.
        dout: (P, F), gradient of its result.
        weight: (P).

    Returns:
        Gradient of gate_up (P, 2 F); gradient of weight (P).
    """
    gate, up = np.split(gate_up.astype(np.float64), 2, axis=1)       # (P, F) each
    sigmoid = 0.5 * (1.0 + np.tanh(0.5 * gate))
    slope = sigmoid + gate * sigmoid * (1.0 - sigmoid)
    before = weight[:, None] * dout.astype(np.float64)               # (P, F)
    dgate_up = np.concatenate([before * up * slope, before * silu(gate)], axis=1)
    dweight = (dout * silu(gate) * up).sum(axis=1)                   # (P)
    return dgate_up.astype(np.float32), dweight.astype(np.float32)


def moe_sum(x: Floats, place: Ids, out: Floats | None = None, ACCUMULATE: int = 0) -> Floats:
    """The sum of each row's positions, added to `out` when ACCUMULATE is 1.

    Args:
        x: (P, C), a row for each position.
        place: (N, TOP), the positions of each row.

    Returns:
        (N, C).

    Example:
        >>> moe_sum(np.array([[1.0], [10.0], [100.0]]), np.array([[0, 2], [1, 0]])).tolist()
        [[101.0], [11.0]]
    """
    result: Doubles = x.astype(np.float64)[place].sum(axis=1)                 # (N, C)
    if ACCUMULATE and out is not None:
        result += out
    return result.astype(np.float32)
