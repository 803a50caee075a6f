"""Muon: momentum whose matrices are made orthogonal by a Newton-Schulz iteration.

    x = u / |u|
    five times: G = x xᵀ;  x = (a I + b G + c G²) x

G is taken on the shorter side. The singular vectors stay, the singular values come near 1.

Source: Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

COEFFICIENTS = (3.4445, -4.775, 2.0315)  # Jordan's a, b, c


def muon_momentum(first: Floats, gradients: Floats, norm: Floats, halted: NDArray[np.uint32],
                  MOMENTUM: float, GAIN: float, NESTEROV: int) -> tuple[Floats, Floats]:
    """The moment, and what is made orthogonal; once halted the moment stays and u is 0.

    m = momentum m + (1 - momentum) g
    u = (1 - momentum) g + momentum m  if nesterov else  m

    Args:
        first, gradients: (COUNT) float32.
        norm: (2): the norm of the gradients, and the factor for each.
        halted: (1): 1 leaves the moment as it is.
        MOMENTUM, GAIN: memory of the moment, and 1 less it.
        NESTEROV: 1 looks ahead.

    Returns:
        The update u and the moment m, (COUNT) each.

    Example:
        >>> one, go = np.ones(1, np.float32), np.zeros(1, np.uint32)
        >>> u, m = muon_momentum(0 * one, one, np.ones(2, np.float32), go, MOMENTUM=0.5,
        ...                      GAIN=0.5, NESTEROV=1)
        >>> float(u[0]), float(m[0])
        (0.75, 0.5)
    """
    if halted[0]:
        return np.zeros_like(first), first
    g = gradients.astype(np.float64) * norm[1]                                    # (COUNT)
    m = MOMENTUM * first.astype(np.float64) + GAIN * g                            # (COUNT)
    u = GAIN * g + MOMENTUM * m if NESTEROV else m                                # (COUNT)
    return u.astype(np.float32), m.astype(np.float32)


def muon_normalise(x: Floats, sums: Floats, SMALLEST: float) -> Floats:
    """x / max(|x|, SMALLEST): (COUNT) -> (COUNT); the sums of squares are in `sums`.

    Example:
        >>> x = np.array([3, 4], np.float32)
        >>> muon_normalise(x, np.array([25], np.float32), SMALLEST=1e-7).round(3).tolist()
        [0.6000000238418579, 0.800000011920929]
    """
    norm = max(float(np.sqrt(sums.astype(np.float64).sum())), SMALLEST)
    return (x / norm).astype(np.float32)


def muon_polynomial(out: Floats, gram: Floats) -> Floats:
    """a I + b G + c G²: `gram` is G (S, S), `out` its square (S, S).

    Example:
        >>> one = np.ones((1, 1), np.float32)
        >>> round(float(muon_polynomial(one, one)[0, 0]), 4)
        0.701
    """
    a, b, c = COEFFICIENTS
    polynomial = a * np.eye(len(gram)) + b * gram.astype(np.float64) + c * out    # (S, S)
    return polynomial.astype(np.float32)


def muon_update(weights: Floats, step: Floats, halted: NDArray[np.uint32], scalars: Floats,
                RATIO: float, WEIGHT_DECAY: float) -> Floats:
    """w (1 - rate * decay) - rate * ratio * step: (COUNT) -> (COUNT); w once halted.

    Args:
        weights, step: (COUNT) float32.
        halted: (1): 1 leaves the weights as they are.
        scalars: (4): the first is the learning rate.
        RATIO: 0.2 sqrt(max(R, C)), of the matrix's sides.
        WEIGHT_DECAY: Muon's setting.

    Example:
        >>> one, scalars = np.ones(1, np.float32), np.array([0.1, 1, 1, 1], np.float32)
        >>> float(muon_update(one, one, np.zeros(1, np.uint32), scalars, 2.0, 0.0)[0].round(3))
        0.800000011920929
    """
    if halted[0]:
        return weights
    rate = float(scalars[0])
    moved = weights.astype(np.float64) * (1 - rate * WEIGHT_DECAY) - rate * RATIO * step
    return moved.astype(np.float32)                                               # (COUNT)
