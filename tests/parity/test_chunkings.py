"""However a prompt is cut, and however often its rings go round: the logits of Transformers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabgrad.models.decoder import Decoder
from tests import checkpoints
from tests.helpers import opened, run
from tests.parity.test_checkpoints import in_chunks, load

TEXT = np.random.default_rng(7).integers(3, checkpoints.VOCABULARY, 128)
CLOSE = 2e-4
# Mistral's window is 24, Gemma's 16 in every other layer; Qwen3.5 has states.
FAMILIES = ("mistral", "gemma3_text", "qwen3_5_text")
# Each number of rows has kernels of its own: few of them, with any number that count.
CHUNK = st.sampled_from((5, 16, 33)).flatmap(
    lambda rows: st.tuples(st.just(rows), st.integers(1, rows)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chunkings")


@cache
def model(folder: Path, family: str) -> tuple[Decoder, np.ndarray]:
    """The decoder, and the oracle's logits (T, V); those of a prefix are the first of them."""
    path = checkpoints.save(family, folder)
    return run(load(opened("webgpu"), path)), checkpoints.logits(path, TEXT)


@settings(max_examples=6, deadline=None)
@given(family=st.sampled_from(FAMILIES), chunks=st.lists(CHUNK, min_size=1, max_size=9))
def test_any_chunks(folder: Path, family: str, chunks: list[tuple[int, int]]) -> None:
    decoder, wanted = model(folder, family)
    opened("webgpu")
    taken, fitting = 0, []
    for rows, count in chunks:
        if taken + count <= len(TEXT):
            fitting.append((rows, count))
            taken += count
    found = in_chunks(decoder, TEXT, fitting)
    assert np.abs(found - wanted[:taken]).max() <= CLOSE
