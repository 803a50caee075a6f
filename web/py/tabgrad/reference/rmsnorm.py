"""RMS normalisation: formulas and oracles.

With the mean of the squares of each row of C numbers:

    rstd = 1 / sqrt(mean(x²) + EPS),  xhat = x rstd,  out = xhat (OFFSET + weight)

and, with g = dout (OFFSET + weight) and means taken over the row:

    dx = rstd (g - xhat mean(g xhat)),  dweight = sum over rows of dout xhat

OFFSET is 0 in Llama and 1 in Gemma, whose files hold what the gain differs from one.

Source: Zhang and Sennrich, "Root mean square layer normalization", 2019.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def rmsnorm_forward(x: Array, weight: Array, EPS: float, OFFSET: float) -> tuple[Array, Array]:
    """Oracle of `rmsnorm_forward`.

    Args:
        x: (R, C) float32.
        weight: (C,), the gain less OFFSET.
        EPS: added to the mean of the squares.
        OFFSET: added to the gain.

    Returns:
        out (R, C), rstd (R,).

    Example:
        >>> x = np.array([[3.0, 4.0, 0.0, 0.0]], np.float32)
        >>> out, rstd = rmsnorm_forward(x, np.zeros(4, np.float32), EPS=0.0, OFFSET=1.0)
        >>> [round(float(number), 4) for number in (*out[0], *rstd)]
        [1.2, 1.6, 0.0, 0.0, 0.4]
    """
    x64 = x.astype(np.float64)                                 # (R, C)
    rstd = 1 / np.sqrt((x64**2).mean(axis=-1) + EPS)           # (R,)
    out = x64 * rstd[:, None] * (OFFSET + weight)              # (R, C)
    return out.astype(np.float32), rstd.astype(np.float32)


def rmsnorm_backward_input(dx: Array, dout: Array, x: Array, weight: Array, rstd: Array,
                           OFFSET: float, ACCUMULATE: int) -> Array:
    """Oracle of `rmsnorm_backward_input`.

    Args:
        dx: (R, C), the gradient so far.
        dout: (R, C), gradient of the output.
        x, weight: the forward's inputs; rstd (R,): its result.
        OFFSET: added to the gain.
        ACCUMULATE: 1 adds to dx, 0 writes it.

    Returns:
        dx (R, C).
    """
    xhat = x.astype(np.float64) * rstd[:, None]                # (R, C)
    g = dout * (OFFSET + weight)                               # (R, C)
    along = (g * xhat).mean(axis=-1, keepdims=True)            # (R, 1)
    gradient = rstd[:, None] * (g - xhat * along)              # (R, C)
    total: Array = (dx + gradient if ACCUMULATE else gradient).astype(np.float32)
    return total


def rmsnorm_backward_weight(dweight: Array, dout: Array, x: Array, rstd: Array,
                            ACCUMULATE: int) -> Array:
    """Oracle of `rmsnorm_backward_weight`.

    Args:
        dweight: (C,), the gradient so far.
        dout: (R, C), gradient of the output.
        x: the forward's input; rstd (R,): its result.
        ACCUMULATE: 1 adds, 0 writes.

    Returns:
        dweight (C,).
    """
    total = (dout.astype(np.float64) * x * rstd[:, None]).sum(axis=0)  # (C,)
    gradient: Array = (dweight + total if ACCUMULATE else total).astype(np.float32)
    return gradient
