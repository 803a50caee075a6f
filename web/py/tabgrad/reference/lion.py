"""Lion, over all parameters at once.

Source: Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023, algorithm 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def lion(weights: Floats, first: Floats, gradients: Floats, norm: Floats,
         halted: NDArray[np.uint32], scalars: Floats, DECAYED: int, BETA1: float, BETA2: float,
         GAIN1: float, GAIN2: float, WEIGHT_DECAY: float) -> tuple[Floats, Floats]:
    """One step; none once halted.

    g = factor * gradient
    w = w (1 - rate * decay) - rate * sign(beta1 m + (1 - beta1) g)
    m = beta2 m + (1 - beta2) g

    Args:
        weights, first, gradients: (COUNT) float32.
        norm: (2): the norm of the gradients, and the factor for each.
        halted: (1): 1 leaves everything as it is.
        scalars: (4): the first is the learning rate.
        DECAYED: the first so many weights decay.
        BETA1, BETA2, WEIGHT_DECAY: Lion's settings.
        GAIN1, GAIN2: 1 - BETA1 and 1 - BETA2.

    Returns:
        The new weights and moments, (COUNT) each.

    Example:
        >>> one, go = np.ones(1, np.float32), np.zeros(1, np.uint32)
        >>> scalars = np.array([0.1, 1, 1, 1], np.float32)
        >>> w, m = lion(one, one, -one, np.ones(2, np.float32), go, scalars, DECAYED=1,
        ...             BETA1=0.9, BETA2=0.99, GAIN1=0.1, GAIN2=0.01, WEIGHT_DECAY=0.5)
        >>> round(float(w[0]), 4), round(float(m[0]), 4)
        (0.85, 0.98)
    """
    if halted[0]:
        return weights, first
    rate = float(scalars[0])
    g = gradients.astype(np.float64) * norm[1]                                    # (COUNT)
    m = first.astype(np.float64)                                                  # (COUNT)
    direction = np.sign(BETA1 * m + GAIN1 * g)                                    # (COUNT)
    decay = np.where(np.arange(len(weights)) < DECAYED, 1 - rate * WEIGHT_DECAY, 1.0)
    updated = weights * decay - rate * direction                                  # (COUNT)
    return updated.astype(np.float32), (BETA2 * m + GAIN2 * g).astype(np.float32)
