"""Layer normalisation: formulas and oracles.

With the mean and the variance (not corrected for bias) of each row of C numbers:

    rstd = 1 / sqrt(variance + EPS),  xhat = (x - mean) rstd,  out = xhat weight + bias

and, with g = dout weight and means taken over the row:

    dx = rstd (g - mean(g) - xhat mean(g xhat)),  dweight = sum over rows of dout xhat,
    dbias = sum over rows of dout

Source: Ba, Kiros, Hinton, "Layer normalization", 2016.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def layernorm_forward(x: Array, weight: Array, bias: Array,
                      EPS: float) -> tuple[Array, Array, Array]:
    """Oracle of `layernorm_forward`.

    Args:
        x: (R, C) float32.
        weight, bias: (C,), gain and shift.
        EPS: added to the variance.

    Returns:
        out (R, C), mean (R,), rstd (R,).

    Example:
        >>> x = np.array([[1.0, 3.0]], np.float32)
        >>> out, mean, rstd = layernorm_forward(x, np.ones(2), np.zeros(2), EPS=0.0)
        >>> out.tolist(), mean.tolist(), rstd.tolist()
        ([[-1.0, 1.0]], [2.0], [1.0])
    """
    mean = x.mean(axis=-1)                                     # (R,)
    rstd = 1.0 / np.sqrt(x.var(axis=-1) + np.float32(EPS))     # (R,)
    return normalise(x, mean, rstd) * weight + bias, mean, rstd


def layernorm_backward_input(dx: Array, dout: Array, x: Array, weight: Array, mean: Array,
                             rstd: Array, ACCUMULATE: int) -> Array:
    """Oracle of `layernorm_backward_input`.

    Args:
        dx: (R, C), the gradient so far.
        dout: (R, C), gradient of the output.
        x, weight: the forward's inputs; mean, rstd (R,): its results.
        ACCUMULATE: 1 adds to dx, 0 writes it.

    Returns:
        dx (R, C).
    """
    xhat = normalise(x, mean, rstd)                            # (R, C)
    g = dout * weight                                          # (R, C)
    centred = g - g.mean(axis=-1, keepdims=True)               # (R, C)
    along = (g * xhat).mean(axis=-1, keepdims=True)            # (R, 1)
    gradient: Array = rstd[:, None] * (centred - xhat * along)  # (R, C)
    return dx + gradient if ACCUMULATE else gradient


def layernorm_backward_weight(dweight: Array, dbias: Array, dout: Array, x: Array, mean: Array,
                              rstd: Array, ACCUMULATE: int) -> tuple[Array, Array]:
    """Oracle of `layernorm_backward_weight`.

    Args:
        dweight, dbias: (C,), the gradients so far.
        dout: (R, C), gradient of the output.
        x: the forward's input; mean, rstd (R,): its results.
        ACCUMULATE: 1 adds, 0 writes.

    Returns:
        dweight and dbias, each (C,).
    """
    weight_sum = (dout * normalise(x, mean, rstd)).sum(axis=0)  # (C,)
    bias_sum = dout.sum(axis=0)                                 # (C,)
    if ACCUMULATE:
        return dweight + weight_sum, dbias + bias_sum
    return weight_sum, bias_sum


def normalise(x: Array, mean: Array, rstd: Array) -> Array:
    """xhat = (x - mean) rstd, row by row.

    Example:
        >>> normalise(np.array([[1.0, 3.0]]), np.array([2.0]), np.array([1.0])).tolist()
        [[-1.0, 1.0]]
    """
    return (x - mean[:, None]) * rstd[:, None]
