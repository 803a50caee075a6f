"""SGD with momentum, over all parameters at once.

Source: Sutskever et al., "On the importance of initialization and momentum in deep learning",
ICML 2013, in PyTorch's form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def sgd(weights: Floats, first: Floats, gradients: Floats, norm: Floats,
        halted: NDArray[np.uint32], scalars: Floats, DECAYED: int, MOMENTUM: float, NESTEROV: int,
        WEIGHT_DECAY: float) -> tuple[Floats, Floats]:
    """One step; none once halted.

    g = factor * gradient + decay * w
    m = momentum m + g
    w = w - rate * (g + momentum m  if nesterov else  m)

    Args:
        weights, first, gradients: (COUNT) float32.
        norm: (2): the norm of the gradients, and the factor for each.
        halted: (1): 1 leaves everything as it is.
        scalars: (4): the first is the learning rate.
        DECAYED: the first so many weights decay.
        MOMENTUM, WEIGHT_DECAY: SGD's settings.
        NESTEROV: 1 looks ahead.

    Returns:
        The new weights and moments, (COUNT) each.

    Example:
        >>> one, go = np.ones(1, np.float32), np.zeros(1, np.uint32)
        >>> scalars = np.array([0.1, 1, 1, 1], np.float32)
        >>> w, m = sgd(one, one, one, np.ones(2, np.float32), go, scalars, DECAYED=0,
        ...            MOMENTUM=0.5, NESTEROV=0, WEIGHT_DECAY=0.0)
        >>> round(float(w[0]), 4), float(m[0])
        (0.85, 1.5)
    """
    if halted[0]:
        return weights, first
    w = weights.astype(np.float64)                                                # (COUNT)
    decay = np.where(np.arange(len(w)) < DECAYED, WEIGHT_DECAY, 0.0)              # (COUNT)
    g = gradients.astype(np.float64) * norm[1] + decay * w                        # (COUNT)
    m = MOMENTUM * first.astype(np.float64) + g                                   # (COUNT)
    step = g + MOMENTUM * m if NESTEROV else m                                    # (COUNT)
    return (w - float(scalars[0]) * step).astype(np.float32), m.astype(np.float32)
