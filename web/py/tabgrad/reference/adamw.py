"""AdamW and the clipping of gradients, over all parameters at once.

Source: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
STRETCH = 4096  # elements of one sum


def adamw(weights: Floats, first: Floats, second: Floats, gradients: Floats, norm: Floats,
          halted: NDArray[np.uint32], scalars: Floats, DECAYED: int, BETA1: float, BETA2: float,
          GAIN1: float, GAIN2: float, EPSILON: float,
          WEIGHT_DECAY: float) -> tuple[Floats, Floats, Floats]:
    """One step; none once halted.

    g = factor * gradient
    m = beta1 m + (1 - beta1) g
    v = beta2 v + (1 - beta2) g²
    w = w (1 - rate * decay) - rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)

    Args:
        weights, first, second, gradients: (COUNT) float32.
        norm: (2): the norm of the gradients, and the factor for each.
        halted: (1): 1 leaves everything as it is.
        scalars: (4): learning rate, 1 - beta1^t, sqrt(1 - beta2^t), gradient scale.
        DECAYED: the first so many weights decay.
        BETA1, BETA2, EPSILON, WEIGHT_DECAY: AdamW's settings.
        GAIN1, GAIN2: 1 - BETA1 and 1 - BETA2.

    Returns:
        The new weights, first and second moments, (COUNT) each.

    Example:
        >>> one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
        >>> scalars = np.array([0.1, 0.1, 0.05**0.5, 1], np.float32)
        >>> w, m, v = adamw(one, zero, zero, one, np.ones(2, np.float32),
        ...                 np.zeros(1, np.uint32), scalars, DECAYED=0, BETA1=0.9, BETA2=0.95,
        ...                 GAIN1=0.1, GAIN2=0.05, EPSILON=1e-8, WEIGHT_DECAY=0.1)
        >>> round(float(w[0]), 4)
        0.9
    """
    if halted[0]:
        return weights, first, second
    rate, correction1, root_correction2, _ = scalars.astype(np.float64)
    g = gradients.astype(np.float64) * norm[1]                                    # (COUNT)
    m = BETA1 * first.astype(np.float64) + GAIN1 * g                              # (COUNT)
    v = BETA2 * second.astype(np.float64) + GAIN2 * g * g                         # (COUNT)
    decay = np.where(np.arange(len(weights)) < DECAYED, 1 - rate * WEIGHT_DECAY, 1.0)
    step = rate / correction1 * m / (np.sqrt(v) / root_correction2 + EPSILON)     # (COUNT)
    updated = weights * decay - step                                              # (COUNT)
    return updated.astype(np.float32), m.astype(np.float32), v.astype(np.float32)


def sum_squares(x: Floats) -> Floats:
    """Sums of squares of stretches of 4096: (COUNT) -> (ceil(COUNT / 4096)).

    Example:
        >>> sum_squares(np.ones(5000, np.float32)).tolist()
        [4096.0, 904.0]
    """
    starts = np.arange(0, len(x), STRETCH)
    with np.errstate(over="ignore"):  # a sum beyond float32 is infinite: the sentinel sees it
        return np.add.reduceat(x.astype(np.float64)**2, starts).astype(np.float32)


def clip_factor(halted: NDArray[np.uint32], sums: Floats, losses: Floats, scalars: Floats,
                MAX_NORM: float) -> tuple[Floats, NDArray[np.uint32]]:
    """The norm of the scaled gradients, the factor that clips it, and the sentinel.

    norm = scale * sqrt(sum(sums)); factor = scale * min(1, MAX_NORM / (norm + 1e-6)), as in
    torch's clip_grad_norm_.

    Args:
        halted: (1): stays 1 once it is.
        sums: (GROUPS): sums of squares of the gradients.
        losses: (LOSSES): of the micro-batches.
        scalars: (4): only the last, the gradient scale, counts.
        MAX_NORM: the largest norm; 0 never clips.

    Returns:
        (2): norm, NaN where it is not finite, and factor; (1): 1 where a number is not finite.

    Example:
        >>> scalars, go = np.array([0, 0, 0, 1], np.float32), np.zeros(1, np.uint32)
        >>> sums, losses = np.array([9, 16], np.float32), np.ones(1, np.float32)
        >>> out, halted = clip_factor(go, sums, losses, scalars, MAX_NORM=0.0)
        >>> out.tolist(), halted.tolist()
        ([5.0, 1.0], [0])
        >>> clip_factor(go, sums, losses * np.inf, scalars, MAX_NORM=0.0)[1].tolist()
        [1]
    """
    scale = float(scalars[3])
    total = float(sums.astype(np.float64).sum())
    finite = total <= float(np.finfo(np.float32).max)
    norm = scale * float(np.sqrt(total)) if finite else float("nan")
    clip = min(1.0, MAX_NORM / (norm + 1e-6)) if MAX_NORM > 0 else 1.0
    bad = not finite or not np.isfinite(losses).all()
    return np.array([norm, scale * clip], np.float32), halted | np.uint32(bad)
