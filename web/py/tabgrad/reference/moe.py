"""Mixture of experts: a router chooses a few experts for each row; their results are added up.

This file has the routing, and the experts row by row: the plain form, good for a single row. For
many rows `reference/moe_groups.py` puts the rows of one expert together first.

Source: Shazeer et al., "Outrageously large neural networks", 2017; the experts are SwiGLU (Shazeer,
"GLU variants improve transformer", 2020).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ids = NDArray[np.uint32]


def silu(x: Doubles) -> Doubles:
    """x sigmoid(x).

    Example:
        >>> silu(np.array([0.0, 50.0])).tolist()
        [0.0, 50.0]
    """
    half: Doubles = 0.5 * x * (1.0 + np.tanh(0.5 * x))  # no overflow, unlike 1 / (1 + exp(-x))
    return half


def moe_route_forward(logits: Floats, TOP: int, NORMALIZE: int) -> tuple[Ids, Floats, Floats]:
    """The TOP experts with the largest logits of each row, and their weights.

    A weight is the softmax over all experts; NORMALIZE divides the chosen ones by their sum, which
    is the softmax over the chosen alone. Equal logits are taken in the order of their experts.

    Args:
        logits: (N, E).

    Returns:
        Experts (N, TOP), best first; their weights (N, TOP); the log-sum-exp of each row (N).

    Example:
        >>> experts, weights, _ = moe_route_forward(np.array([[1.2, 1.6, 0.3]]), 2, 1)
        >>> experts.tolist(), weights.round(1).tolist()
        ([[1, 0]], [[0.6000000238418579, 0.4000000059604645]])
    """
    wide = logits.astype(np.float64)
    experts = np.argsort(-wide, axis=1, kind="stable")[:, :TOP]      # (N, TOP)
    peak = wide.max(axis=1, keepdims=True)                           # (N, 1)
    log_sum = peak + np.log(np.exp(wide - peak).sum(axis=1, keepdims=True))
    weights = np.exp(np.take_along_axis(wide, experts, 1) - log_sum)  # (N, TOP)
    if NORMALIZE:
        weights /= weights.sum(axis=1, keepdims=True)
    return (experts.astype(np.uint32), weights.astype(np.float32),
            log_sum[:, 0].astype(np.float32))


def moe_route_backward(logits: Floats, log_sum: Floats, experts: Ids, weights: Floats, place: Ids,
                       dweight: Floats, NORMALIZE: int, dlogits: Floats | None = None,
                       ACCUMULATE: int = 0) -> Floats:
    """Gradient of the logits: w_e dw_e - s_e sum(w dw), added to `dlogits` when ACCUMULATE is 1.

    s is the softmax over the chosen experts when NORMALIZE is 1, else the softmax over all.

    Args:
        logits: (N, E), what the forward read.
        log_sum: (N), what it gave.
        experts: (N, TOP), what it chose.
        weights: (N, TOP), what it gave them.
        place: (N, TOP), where in `dweight` the gradients of the weights are.
        dweight: (P).

    Returns:
        (N, E).
    """
    own = weights.astype(np.float64) * dweight[place]                # (N, TOP)
    rows = np.arange(len(logits))[:, None]                           # (N, 1)
    gradient = np.zeros(logits.shape)                                # (N, E)
    np.add.at(gradient, (rows, experts), own)
    share = np.zeros(logits.shape)                                   # (N, E)
    if NORMALIZE:
        np.add.at(share, (rows, experts), weights)
    else:
        share = np.exp(logits.astype(np.float64) - log_sum[:, None])
    gradient -= share * own.sum(axis=1, keepdims=True)
    if ACCUMULATE and dlogits is not None:
        gradient += dlogits
    return gradient.astype(np.float32)


def moe_row_gate_up(x: Floats, gate_up: Floats, experts: Ids, weights: Floats, TOP: int,
                    FIRST: int = 0, out: Floats | None = None, ACCUMULATE: int = 0) -> Floats:
    """weight silu(gate) * up for each row and slot, added to `out` when ACCUMULATE is 1.

    Args:
        x: (N, C).
        gate_up: (COUNT, 2 F, C), the matrices of the experts FIRST, FIRST + 1, ...
        experts: (N TOP), the experts of row 0, then of row 1, ...; those that `gate_up` does
            not have count as zero.
        weights: (N TOP).

    Returns:
        (N TOP, F).
    """
    width = gate_up.shape[1] // 2
    result = np.zeros((len(experts), width))                         # (N TOP, F)
    for pair, expert in enumerate(experts.astype(np.int64) - FIRST):
        if 0 <= expert < len(gate_up):
            row = x[pair // TOP].astype(np.float64)                  # (C)
            both = gate_up[expert].astype(np.float64) @ row          # (2 F)
            result[pair] = weights[pair] * silu(both[:width]) * both[width:]
    if ACCUMULATE and out is not None:
        result += out
    return result.astype(np.float32)


def moe_row_down(h: Floats, down: Floats, experts: Ids, TOP: int, FIRST: int = 0,
                 out: Floats | None = None, ACCUMULATE: int = 0) -> Floats:
    """The sum over each row's slots of down[expert] h, added to `out` when ACCUMULATE is 1.

    Args:
        h: (N TOP, F), what `moe_row_gate_up` gives.
        down: (COUNT, C, F), the matrices of the experts FIRST, FIRST + 1, ...
        experts: (N TOP); those that `down` does not have count as zero.

    Returns:
        (N, C).
    """
    result = np.zeros((len(experts) // TOP, down.shape[1]))          # (N, C)
    for pair, expert in enumerate(experts.astype(np.int64) - FIRST):
        if 0 <= expert < len(down):
            result[pair // TOP] += down[expert].astype(np.float64) @ h[pair].astype(np.float64)
    if ACCUMULATE and out is not None:
        result += out
    return result.astype(np.float32)
