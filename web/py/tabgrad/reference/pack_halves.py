"""float32 numbers rounded to 16 bits, two in a word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.stored import FORMATS, pack


def pack_halves(x: NDArray[np.float32], FORMAT: int) -> NDArray[np.uint32]:
    """Oracle of `pack_halves`: the words of `reference.stored.pack`.

    Args:
        x: any shape.
        FORMAT: 1 bfloat16, 2 float16.

    Returns:
        (ceil(x.size / 2)) uint32.

    Example:
        >>> [hex(word) for word in pack_halves(np.array([1.0, -2.0], np.float32), 1)]
        ['0xc0003f80']
    """
    return np.frombuffer(pack(x, FORMATS[FORMAT]), "<u4").astype(np.uint32)
