"""Probability as whole numbers: what sampling adds up, equal in every order and everywhere.

The last bits of exp differ between adapters, and so would the token at the edge of a cumulative
sum. Here a logit's distance below the peak is a whole number of 2^-26 octaves (halvings), its
mass a whole number of 2^-44 of the peak's. Sums of whole numbers are exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Words = NDArray[np.uint32]
Masses = NDArray[np.uint64]

OCTAVES_PER_NAT = np.float32(1.4426950408889634)  # 1 / ln 2
OCTAVE = 2**26
PEAK_MASS = 2**44
POLYNOMIAL = (233026, 2733858, 20566476, 119162627, 515877041, 1488521876, 2**31)
"""Of 2^-f times 2^31 for f in [0, 1), highest degree first, signs alternating; error 2^-29."""


def order_key(x: Floats) -> Words:
    """Words that order like the floats; both zeros are equal.

    Example:
        >>> keys = order_key(np.array([-1e30, -2.0, -0.0, 0.0, 3.0], np.float32))
        >>> bool((np.diff(keys.astype(np.int64)) >= 0).all()), bool(keys[2] == keys[3])
        (True, True)
    """
    bits: Words = (np.asarray(x, np.float32) + np.float32(0)).view(np.uint32)
    key: Words = np.where(bits >> 31 == 1, ~bits, bits | np.uint32(2**31))
    return key


def distance_below(peak: np.float32, x: Floats, octaves: np.float32) -> Words:
    """How far logits lie below the peak, in 2^-26 octaves, at most 63.5 octaves.

    Args:
        peak: the largest logit.
        x: (...) logits.
        octaves: of one unit of logit: 1 / (temperature ln 2).

    Example:
        >>> x = np.array([3.0, 1.0, -1e30], np.float32)
        >>> (distance_below(np.float32(3), x, np.float32(0.5)) / OCTAVE).tolist()
        [0.0, 1.0, 63.5]
    """
    below = np.maximum(peak - x, np.float32(0)) * octaves
    fixed = np.minimum(below, np.float32(63.5)) * np.float32(OCTAVE)
    return np.asarray(fixed, np.uint32)


def mass_at(distance: Words) -> Masses:
    """2^44 * 2^-distance, rounded down; zero from 45 octaves on.

    Example:
        >>> octaves = np.array([0.0, 1.0, 0.5])
        >>> masses = mass_at((octaves * OCTAVE).astype(np.uint32))
        >>> bool(np.allclose(masses / PEAK_MASS, 2.0**-octaves, rtol=2**-28, atol=0))
        True
    """
    fraction = (distance.astype(np.uint64) << np.uint64(6)) & np.uint64(2**32 - 1)
    mass: Masses = np.full(distance.shape, POLYNOMIAL[0], np.uint64)
    for coefficient in POLYNOMIAL[1:]:
        mass = np.uint64(coefficient) - ((fraction * mass) >> np.uint64(32))
    octave = (distance >> np.uint32(26)).astype(np.int64)
    left = np.maximum(13 - octave, 0).astype(np.uint64)
    right = np.maximum(octave - 13, 0).astype(np.uint64)
    return (mass << left) >> right


def share(mass: int, fraction: int) -> int:
    """mass * fraction / 2^32, rounded down.

    Example:
        >>> share(1000, 2**31)
        500
    """
    return mass * fraction >> 32
