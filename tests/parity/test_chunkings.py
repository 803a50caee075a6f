"""However a prompt is cut, however often a ring goes round, turn after turn: Transformers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabgrad.generate.sampling import Sampling
from tabgrad.generate.session import Session
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


@settings(max_examples=6)
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


def test_frequencies_that_follow_the_length_turn_after_turn(tmp_path: Path) -> None:
    rope = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    path = checkpoints.save("llama", tmp_path, max_position_embeddings=32, rope_parameters=rope)
    chat = Session(run(load(opened("webgpu"), path)), 128, (16,))
    text: list[int] = []

    async def answer(count: int) -> list[int]:
        return [one.id async for drawn in chat.generate(text, Sampling(temperature=0.0), count)
                for one in drawn]
    # Below the known length, across it while it writes, and back below it.
    for kept, until, count in ((0, 20, 6), (128, 28, 12), (128, 60, 5), (25, 27, 4)):
        text = text[:kept]
        text += TEXT[len(text):until].tolist()
        checkpoints.oracle.cache_clear()  # it keeps the longest length that it has seen
        found = run(answer(count))
        assert found == checkpoints.greedy(path, np.array(text), count)
        text += found
