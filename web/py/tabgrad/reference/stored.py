"""Weights as they are stored: 16-bit numbers in the GPU's 32-bit words, as a checkpoint has them.

Two numbers share a word, the first in its low half, so the bytes of a file are the bytes of the
buffer. An odd count leaves the high half of the last word unused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMATS = ("float32", "bfloat16", "float16")
"""In the order of the const STORED that kernels are composed with."""

Array = np.ndarray[Any, np.dtype[Any]]


def byte_count(count: int, dtype: str) -> int:
    """The bytes that `count` numbers take on the GPU: whole words of four.

    Example:
        >>> byte_count(3, "float32"), byte_count(3, "bfloat16")
        (12, 8)
    """
    return 4 * count if dtype == "float32" else (count + 1) // 2 * 4


def pack(values: Array, dtype: str) -> bytes:
    """Rounds to the nearest number of the format, ties to the even one.

    Args:
        values: any shape, float32.
        dtype: one of FORMATS.

    Returns:
        `byte_count(values.size, dtype)` bytes, little-endian.

    Example:
        >>> pack(np.array([1.0, -2.0, 1.0 + 2**-8], np.float32), "bfloat16").hex(" ", 2)
        '803f 00c0 803f 0000'
    """
    flat = np.ascontiguousarray(values, "<f4").ravel()
    if dtype == "float32":
        return flat.tobytes()
    halves = _float16_bits(flat) if dtype == "float16" else _bfloat16_bits(flat)
    padded = np.zeros((flat.size + 1) // 2 * 2, "<u2")
    padded[:flat.size] = halves
    return padded.tobytes()


def unpack(data: Any, dtype: str, count: int | None = None) -> NDArray[np.float32]:
    """The numbers in float32, which holds every number of the formats exactly.

    Args:
        data: bytes, or anything with a buffer of them.
        dtype: one of FORMATS.
        count: how many; by default all, with the unused half of a last word.

    Returns:
        (count) float32.

    Example:
        >>> unpack(bytes.fromhex("803f00c0"), "bfloat16").tolist()
        [1.0, -2.0]
    """
    if dtype == "float32":
        return np.frombuffer(data, "<f4")[:count].astype(np.float32)
    halves = np.frombuffer(data, "<u2")[:count]
    if dtype == "float16":
        return halves.view("<f2").astype(np.float32)
    return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)


def rounded(values: Array, dtype: str) -> NDArray[np.float32]:
    """float32 numbers rounded to the format, in float32 and in the same shape.

    Example:
        >>> rounded(np.array([0.1], np.float32), "bfloat16").tolist()
        [0.10009765625]
    """
    return unpack(pack(values, dtype), dtype, values.size).reshape(values.shape)


def _float16_bits(flat: NDArray[np.float32]) -> NDArray[np.uint16]:
    with np.errstate(over="ignore"):  # beyond 65504 is infinity, as in every conversion
        return flat.astype("<f2").view("<u2")


def _bfloat16_bits(flat: NDArray[np.float32]) -> NDArray[np.uint16]:
    bits = flat.view(np.uint32)
    # Half of the last place, less one unless the kept part is odd: ties go to even.
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet_nan = (bits >> np.uint32(16)) | np.uint32(0x40)  # a NaN must not round to infinity
    return np.where(np.isnan(flat), quiet_nan, nearest).astype(np.uint16)
