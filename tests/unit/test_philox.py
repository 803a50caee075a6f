"""Philox against the Random123 known-answer vectors, and what its users rely on."""

from __future__ import annotations

import numpy as np
import pytest

from tabgrad.errors import SettingsError
from tabgrad.reference import philox

# kat_vectors of Random123: philox4x32 with 10 rounds (counter, key, answer).
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text: str) -> np.ndarray:
    return np.array([int(word, 16) for word in text.split()], np.uint32)


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN_ANSWERS)
def test_known_answers(counter: str, key: str, answer: str) -> None:
    low, high = (int(word) for word in words(key))
    np.testing.assert_array_equal(philox.philox_4x32(words(counter), (low, high)), words(answer))


def test_a_batch_of_counters_equals_one_at_a_time() -> None:
    counters = np.array([words(counter) for counter, _, _ in KNOWN_ANSWERS])
    together = philox.philox_4x32(counters, (5, 6))
    for counter, row in zip(counters, together, strict=True):
        np.testing.assert_array_equal(philox.philox_4x32(counter, (5, 6)), row)


def test_word_layout_of_a_stream() -> None:
    seed, counter = 0x299F31D0_A4093822, 0x03707344_13198A2E
    drawn = philox.random_uint32(seed, counter, 11)
    block = np.array([2, 0, 0x13198A2E, 0x03707344], np.uint32)
    third = philox.philox_4x32(block, (0xA4093822, 0x299F31D0))
    np.testing.assert_array_equal(drawn[8:11], third[:3])


def test_streams_and_seeds_differ() -> None:
    streams = [philox.random_uint32(seed, counter, 64)
               for seed, counter in [(0, 0), (1, 0), (0, 1), (2**32, 0), (0, 2**32)]]
    assert len({stream.tobytes() for stream in streams}) == len(streams)


def test_uniform_is_uniform() -> None:
    draws = philox.uniform(seed=3, counter=9, n=100_000)
    counts, _ = np.histogram(draws, bins=100, range=(0.0, 1.0))
    chi_square = float(((counts - 1000.0) ** 2 / 1000.0).sum())
    assert 60.0 < chi_square < 150.0  # 99 degrees of freedom: about five sigma either way
    assert draws.dtype == np.float32
    assert draws.max() < 1.0


def test_normal_has_the_moments_of_a_normal() -> None:
    draws = philox.normal(seed=3, counter=1, n=100_001).astype(np.float64)
    assert draws.shape == (100_001,)
    assert abs(draws.mean()) < 0.02
    assert abs(draws.var() - 1.0) < 0.03
    assert abs((draws**4).mean() - 3.0) < 0.2


@pytest.mark.parametrize(("seed", "counter", "n"), [(-1, 0, 1), (2**64, 0, 1), (0, -1, 1),
                                                    (0, 2**64, 1), (0, 0, -1)])
def test_out_of_range_is_named(seed: int, counter: int, n: int) -> None:
    with pytest.raises(SettingsError, match="out of range"):
        philox.random_uint32(seed, counter, n)
