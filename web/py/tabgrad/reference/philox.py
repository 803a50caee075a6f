"""Philox 4x32-10: random numbers from a seed and a counter, with no hidden state.

A counter-based generator is a keyed bijection: it scrambles a 128-bit counter under a 64-bit
key. Number i of a stream is a pure function of (seed, counter, i), so the CPU and every GPU thread
draw the same numbers in any order, and resuming a run needs only the seed and the counter.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import SettingsError

Words = NDArray[np.uint32]

ROUNDS = 10
MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)  # golden ratio and sqrt(3) - 1: what each round adds to the key
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox_4x32(counter: Words, key: tuple[int, int]) -> Words:
    """Scrambles 128-bit counters under a 64-bit key.

    Each of ten rounds maps (c0, c1, c2, c3) to
    (hi(M1 c2) ^ c1 ^ k0, lo(M1 c2), hi(M0 c0) ^ c3 ^ k1, lo(M0 c0))
    and then adds the Weyl constants to the key.

    Args:
        counter: (..., 4) uint32, lowest word first.
        key: two uint32, lowest word first.

    Returns:
        (..., 4) uint32, uniform over all words.

    Example:
        >>> [hex(word) for word in philox_4x32(np.zeros(4, np.uint32), (0, 0))]
        ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    c0, c1, c2, c3 = (counter[..., i].astype(np.uint64) for i in range(4))
    k0, k1 = key
    for _ in range(ROUNDS):
        product0 = MULTIPLIERS[0] * c0
        product1 = MULTIPLIERS[1] * c2
        c0 = (product1 >> HALF) ^ c1 ^ np.uint64(k0)
        c1 = product1 & LOW
        c2 = (product0 >> HALF) ^ c3 ^ np.uint64(k1)
        c3 = product0 & LOW
        k0 = (k0 + WEYL[0]) & 0xFFFFFFFF
        k1 = (k1 + WEYL[1]) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)


def random_uint32(seed: int, counter: int, n: int) -> Words:
    """The first n words of stream `counter` of `seed`.

    Word i is word i % 4 of philox((i // 4, 0, counter low, counter high), seed), so that streams
    with different counters never overlap.

    Args:
        seed: 0 <= seed < 2**64.
        counter: 0 <= counter < 2**64; the number of the stream (a step, a position, ...).
        n: how many words; at most 2**34.

    Returns:
        (n,) uint32.

    Raises:
        SettingsError: a seed or counter outside 64 bits, or a negative n.

    Example:
        >>> bool((random_uint32(7, 3, 10)[:4] == random_uint32(7, 3, 4)).all())
        True
    """
    check_range("seed", seed, 2**64)
    check_range("counter", counter, 2**64)
    check_range("n", n, 2**34 + 1)
    return _stream(_split(seed), _split(counter), n)


def uniform(seed: int, counter: int, n: int) -> NDArray[np.float32]:
    """n numbers uniform in [0, 1), each a multiple of 2**-24: (word >> 8) / 2**24.

    Arguments and errors are those of `random_uint32`.

    Returns:
        (n,) float32.

    Example:
        >>> draws = uniform(seed=1, counter=0, n=1000)
        >>> bool(draws.min() >= 0), bool(draws.max() < 1), bool(abs(draws.mean() - 0.5) < 0.05)
        (True, True, True)
    """
    return to_unit(random_uint32(seed, counter, n))


def normal(seed: int, counter: int, n: int) -> NDArray[np.float32]:
    """n numbers from the standard normal distribution (Box and Muller, 1958), made in float64.

    Each pair of words (a, b) gives r cos t and r sin t, with
    r = sqrt(-2 ln((a + 1) / 2**32)) and t = 2 pi b / 2**32.
    Arguments and errors are those of `random_uint32`.

    Returns:
        (n,) float32.

    Example:
        >>> draws = normal(seed=1, counter=0, n=4000)
        >>> bool(abs(draws.mean()) < 0.05), bool(abs(draws.std() - 1) < 0.05)
        (True, True)
    """
    pairs = (n + 1) // 2
    words = random_uint32(seed, counter, 2 * pairs).reshape(pairs, 2).astype(np.float64)
    radius = np.sqrt(-2.0 * np.log((words[:, 0] + 1.0) / 2.0**32))
    angle = 2.0 * np.pi * words[:, 1] / 2.0**32
    draws = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return draws.reshape(-1)[:n].astype(np.float32)


def philox_uniform(state: Words, N: int) -> NDArray[np.float32]:
    """Oracle of the kernel `philox_uniform`: `uniform`, with seed and counter as data.

    Args:
        state: (4,) uint32: seed low, seed high, counter low, counter high.
        N: how many numbers.

    Returns:
        (N,) float32 in [0, 1).

    Example:
        >>> state = np.array([7, 0, 3, 0], np.uint32)
        >>> bool((philox_uniform(state, 5) == uniform(7, 3, 5)).all())
        True
    """
    words = [int(word) for word in state]
    return to_unit(_stream((words[0], words[1]), (words[2], words[3]), N))


def to_unit(words: Words) -> NDArray[np.float32]:
    """Maps uint32 words to [0, 1) by their upper 24 bits, which float32 holds exactly.

    Example:
        >>> to_unit(np.array([0, 2**31, 2**32 - 1], np.uint32)).tolist()
        [0.0, 0.5, 0.9999999403953552]
    """
    return (words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def _split(value: int) -> tuple[int, int]:
    """Low and high 32 bits."""
    return value & 0xFFFFFFFF, value >> 32


def _stream(key: tuple[int, int], stream: tuple[int, int], n: int) -> Words:
    blocks = (n + 3) // 4
    counter = np.zeros((blocks, 4), np.uint32)
    counter[:, 0] = np.arange(blocks, dtype=np.uint32)
    counter[:, 2] = stream[0]
    counter[:, 3] = stream[1]
    return philox_4x32(counter, key).reshape(-1)[:n]


def check_range(name: str, value: int, limit: int) -> None:
    """Raises SettingsError unless 0 <= value < limit.

    Example:
        >>> check_range("seed", 3, 10)
    """
    if not 0 <= value < limit:
        raise SettingsError(f"{name} is out of range.", expected=f"0 to {limit - 1}",
                            received=str(value), remedy="Choose a number in that range.")
