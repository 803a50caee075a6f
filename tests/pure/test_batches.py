"""Training windows: right shape, a pure function of their arguments, evenly spread."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabgrad.errors import DataError
from tabgrad.text.batches import batch, validation_batches

PART = np.random.default_rng(0).integers(0, 256, 5000).astype(np.uint8)


@given(st.integers(0, 2**40), st.integers(0, 50), st.integers(1, 9), st.integers(1, 60),
       st.integers(0, 2**32 - 1))
def test_rows_are_windows_of_the_text(step, micro, batch_size, context, seed):
    ids, targets = batch(PART, step, micro, batch_size, context, seed)
    assert ids.shape == targets.shape == (batch_size, context)
    assert ids.dtype == targets.dtype == np.uint32
    assert (ids[:, 1:] == targets[:, :-1]).all()
    text = PART.tobytes()
    for row, target in zip(ids, targets, strict=True):
        assert bytes(row.astype(np.uint8)) + bytes([int(target[-1])]) in text


def test_every_argument_matters_and_nothing_else():
    base = batch(PART, 5, 0, 8, 32, 1)[0]
    np.random.default_rng(3).random(100)
    assert (batch(PART, 5, 0, 8, 32, 1)[0] == base).all()
    for other in [(6, 0, 1), (5, 1, 1), (5, 0, 2)]:
        step, micro, seed = other
        assert (batch(PART, step, micro, 8, 32, seed)[0] != base).any()


def test_all_starts_occur_about_equally_often():
    part = np.arange(26, dtype=np.uint8)                    # 10 starts for a context of 16
    starts = np.concatenate([batch(part, step, 0, 100, 16, 9)[0][:, 0] for step in range(100)])
    counts = np.bincount(starts, minlength=10)
    assert len(counts) == 10
    assert abs(counts - 1000).max() < 150                   # five standard deviations


def test_the_only_window_of_a_short_part():
    ids, targets = batch(np.arange(9, dtype=np.uint8), 0, 0, 3, 8, 0)
    assert (ids == np.arange(8)).all() and (targets == np.arange(1, 9)).all()
    with pytest.raises(DataError, match="at least 10 bytes"):
        batch(np.arange(9, dtype=np.uint8), 0, 0, 3, 9, 0)


def test_validation_reads_from_the_first_to_the_last_window():
    pairs = validation_batches(PART, 3, 4, 64)
    assert len(pairs) == 3
    assert bytes(pairs[0][0][0].astype(np.uint8)) == PART[:64].tobytes()
    assert int(pairs[-1][1][-1, -1]) == PART[-1]
    again = validation_batches(PART, 3, 4, 64)
    assert all((a[0] == b[0]).all() for a, b in zip(pairs, again, strict=True))
    with pytest.raises(DataError):
        validation_batches(PART, 0, 4, 64)
