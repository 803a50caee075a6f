"""Activations kept in 16 bits: each row over a power of two, so that float16 cannot overflow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.stored import FORMATS, pack

Floats = NDArray[np.float32]
Words = NDArray[np.uint32]


def halves_exponent(x: Floats, FORMAT: int) -> Words:
    """The exponent bits of the power of two that divides each row: (R, C) -> (R).

    127, which is 1, in bfloat16 and for rows of zeros; in float16 what brings the row's largest
    number between 2^14 and 2^15.

    Example:
        >>> halves_exponent(np.array([[1e6, -3], [0, 1]], np.float32), FORMAT=2).tolist()
        [132, 113]
    """
    largest = np.abs(x).max(axis=1)
    if FORMATS[FORMAT] == "bfloat16":
        return np.full(len(x), 127, np.uint32)
    bits = np.clip(largest.view(np.uint32) >> np.uint32(23), 15, 254) - np.uint32(14)
    return np.where(largest > 0, bits, 127).astype(np.uint32)


def halves_pack(exponent: Words, x: Floats, FORMAT: int) -> Words:
    """x / 2^(exponent - 127) in 16 bits, two in a word: (R, C) -> (ceil(R C / 2)).

    Example:
        >>> words = halves_pack(np.array([128], np.uint32), np.array([[2, 4]], np.float32), 2)
        >>> [f"{word:x}" for word in words]
        ['40003c00']
    """
    inverse = ((np.uint32(254) - exponent) << np.uint32(23)).view(np.float32)
    with np.errstate(over="ignore"):
        divided = x * inverse[:, None]
    return np.frombuffer(pack(divided, FORMATS[FORMAT]), np.uint32)


def halves_unpack(exponent: Words, x: Floats) -> Floats:
    """x 2^(exponent - 127), exact: (R, C) -> (R, C).

    Example:
        >>> halves_unpack(np.array([128], np.uint32), np.array([[1, 2]], np.float32)).tolist()
        [[2.0, 4.0]]
    """
    return x * (exponent << np.uint32(23)).view(np.float32)[:, None]
