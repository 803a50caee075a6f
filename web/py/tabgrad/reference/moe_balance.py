"""The load-balancing loss of a mixture of experts: formulas and oracles.

Over the R rows of all layers, let f_e be the share of rows that chose expert e (with TOP choices a
row the shares add up to TOP), and P_e the mean of its probability, the router's softmax. Then

    balance = E sum_e f_e P_e

is least (TOP) where all experts are asked alike. f_e has no gradient; P_e has, so the router learns
to give less to experts that are chosen often: dlogits[e] = E / R p_e (f_e - sum_j f_j p_j).

Source: Shazeer et al., "Outrageously large neural networks", 2017; Fedus et al., "Switch
transformers", 2021, equation 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Ids = NDArray[np.uint32]


def moe_balance_sums(sums: Array, logits: Array, log_sum: Array, experts: Ids,
                     ACCUMULATE: int) -> Array:
    """Oracle of `moe_balance_sums`.

    Args:
        sums: (2, E), of the layers before.
        logits: (N, E), the router's.
        log_sum: (N,), log-sum-exp of each row.
        experts: (N, TOP), the chosen ones.
        ACCUMULATE: 1 adds to sums, 0 writes them.

    Returns:
        (2, E): rows that chose each expert, and its probabilities added up.

    Example:
        >>> logits, log_sum = np.zeros((2, 2), np.float32), np.log(np.full(2, 2, np.float32))
        >>> chosen, zero = np.array([[1], [1]], np.uint32), np.zeros((2, 2), np.float32)
        >>> moe_balance_sums(zero, logits, log_sum, chosen, 0).tolist()
        [[0.0, 2.0], [1.0, 1.0]]
    """
    count = logits.shape[1]
    chosen = np.bincount(experts.reshape(-1), minlength=count)           # (E,)
    probabilities = np.exp(logits - log_sum[:, None]).sum(axis=0)        # (E,)
    made = np.stack([chosen, probabilities]).astype(np.float32)          # (2, E)
    return sums + made if ACCUMULATE else made


def moe_balance_loss(loss: Array, sums: Array, ROWS: int, FACTOR: float) -> Array:
    """Oracle of `moe_balance_loss`: loss (1,) + FACTOR * balance of the sums (2, E).

    Example:
        >>> even = np.array([[4, 4], [2, 2]], np.float32)  # 4 rows ask both of two experts
        >>> moe_balance_loss(np.zeros(1, np.float32), even, ROWS=4, FACTOR=1.0).tolist()
        [2.0]
    """
    shares = sums / np.float32(ROWS)                                     # (2, E)
    balance = shares.shape[1] * np.float32((shares[0] * shares[1]).sum())
    return np.asarray(loss + np.float32(FACTOR) * balance, np.float32)


def moe_balance_backward(dlogits: Array, dout: Array, logits: Array, log_sum: Array, sums: Array,
                         dloss: Array, ROWS: int, FACTOR: float, ACCUMULATE: int) -> Array:
    """Oracle of `moe_balance_backward`.

    Args:
        dlogits: (N, E), the gradient so far.
        dout: (N, E), the gradient from the experts.
        logits, log_sum: of the layer.
        sums: (2, E), of all layers.
        dloss: (1,), gradient of the loss.
        ROWS: of all layers.
        FACTOR: what balance is worth.
        ACCUMULATE: 1 adds to dlogits, 0 writes it.

    Returns:
        dlogits (N, E).

    Example:
        >>> zero, one = np.zeros((1, 2), np.float32), np.ones(1, np.float32)
        >>> ln2, sums = np.log(one * 2), np.array([[1, 0], [0.5, 0.5]], np.float32)
        >>> moe_balance_backward(zero, zero, zero, ln2, sums, one, 1, 1.0, 0).tolist()
        [[0.5, -0.5]]
    """
    p = np.exp(logits - log_sum[:, None])                                # (N, E)
    f = sums[0] / np.float32(ROWS)                                       # (E,)
    share = p * (f - (p * f).sum(axis=1, keepdims=True))                 # (N, E)
    gradient = dout + dloss[0] * np.float32(FACTOR * len(f) / ROWS) * share
    return np.asarray(dlogits + gradient if ACCUMULATE else gradient, np.float32)
