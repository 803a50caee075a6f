"""The product element by element."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def mul_forward(a: Floats, b: Floats, out: Floats | None = None, ACCUMULATE: int = 0) -> Floats:
    """a * b, added to `out` when ACCUMULATE is 1; equal shapes.

    Its gradients are products too: da = dout * b and db = dout * a.

    Example:
        >>> mul_forward(np.array([2, 3], np.float32), np.array([4, 5], np.float32)).tolist()
        [8.0, 15.0]
    """
    product = a * b
    return product + out if ACCUMULATE and out is not None else product
