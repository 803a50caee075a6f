"""Every family's checkpoint, loaded as it is: Transformers' logits, and the same greedy text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tabgrad import platform
from tabgrad.autograd import no_grad
from tabgrad.checkpoint.load import load_decoder
from tabgrad.checkpoint.models import open_folder
from tabgrad.generate.sampling import Sampling
from tabgrad.generate.session import Session
from tabgrad.gpu.device import Device
from tabgrad.models.cached import Caches, read
from tabgrad.models.decoder import Decoder
from tabgrad.tensor import Tensor
from tests.checkpoints import FAMILIES, PROMPT, greedy, logits, save
from tests.helpers import run

LIMIT = 2e-4
GREEDY = 32


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


def stored(folder: Path, family: str, dtype: str = "float32", **changes) -> Path:
    path = folder / f"{family}-{dtype}"
    return path if path.is_dir() and not changes else save(family, folder, dtype, **changes)


def loaded(device: Device, path: Path) -> Decoder:
    return run(load(device, path))


async def load(device: Device, path: Path) -> Decoder:
    model = await open_folder(platform.current().files(str(path.parent)), path.name)
    return await load_decoder(device, model)


def whole(decoder: Decoder, ids: np.ndarray) -> np.ndarray:
    """Logits (T, V) by one forward pass, as in training."""
    with no_grad():
        return decoder(Tensor.from_numpy(ids[None].astype(np.uint32))).numpy()[0]


def in_chunks(decoder: Decoder, ids: np.ndarray, chunks: list[tuple[int, int]]) -> np.ndarray:
    """Logits (T, V) through the caches, by chunks of (rows, rows that count)."""
    caches = Caches(decoder, 128, max(rows for rows, _ in chunks))
    found, position = [], 0
    for rows, count in chunks:
        padded = np.zeros(rows, np.uint32)
        padded[:count] = ids[position:position + count]
        span = Tensor.from_numpy(np.array([position, count], np.uint32))
        hidden = read(decoder, Tensor.from_numpy(padded), span, caches)
        with no_grad():
            found.append(decoder.head(hidden).numpy()[0, :count])
        position += count
    return np.concatenate(found)


def written(decoder: Decoder, ids: np.ndarray, count: int) -> list[int]:
    """Greedy ids of a session."""
    async def collect() -> list[int]:
        session = Session(decoder, 128)
        return [one.id async for drawn in session.generate(
            ids.tolist(), Sampling(temperature=0.0), count) for one in drawn]
    return run(collect())


@pytest.mark.parametrize("family", FAMILIES)
def test_logits(device: Device, folder: Path, family: str) -> None:
    path = stored(folder, family)
    decoder = loaded(device, path)
    expected = logits(path, PROMPT)
    found = whole(decoder, PROMPT)
    assert np.abs(found - expected).max() <= LIMIT
    assert (found.argmax(-1) == expected.argmax(-1)).all()
    one_by_one = in_chunks(decoder, PROMPT, [(1, 1)] * len(PROMPT))
    chunked = in_chunks(decoder, PROMPT, [(33, 33), (33, 20), (1, 1), (1, 1), (33, 15)])
    batched = in_chunks(decoder, PROMPT, [(70, 70)])
    for cached in (one_by_one, chunked, batched):
        assert np.abs(cached - expected).max() <= LIMIT
        assert (cached.argmax(-1) == expected.argmax(-1)).all()
    assert np.abs(found[1:] - found[:-1]).max() > 100 * LIMIT, "constant logits prove nothing"


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_text(device: Device, folder: Path, family: str) -> None:
    path = stored(folder, family)
    expected = greedy(path, PROMPT, GREEDY)
    assert written(loaded(device, path), PROMPT, GREEDY) == expected


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_sixteen_bits(device: Device, folder: Path, family: str, dtype: str) -> None:
    """The weights stay as they are stored; Transformers gets the same rounded values in float32."""
    path = stored(folder, family, dtype)
    decoder = loaded(device, path)
    assert decoder.model.embed_tokens.weight.dtype == dtype
    expected = logits(path, PROMPT)
    for found in (whole(decoder, PROMPT), in_chunks(decoder, PROMPT, [(64, 64), (16, 6)])):
        assert np.abs(found - expected).max() <= LIMIT
        assert (found.argmax(-1) == expected.argmax(-1)).all()
    assert written(decoder, PROMPT, GREEDY) == greedy(path, PROMPT, GREEDY)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reference_on_the_cpu_writes_the_same(numpy_device: Device, folder: Path,
                                                  family: str) -> None:
    """Without WebGPU every kernel is its oracle in NumPy: the reference that a student reads."""
    path = stored(folder, family)
    decoder = loaded(numpy_device, path)
    found = whole(decoder, PROMPT)
    assert np.abs(found - logits(path, PROMPT)).max() <= LIMIT
    assert written(decoder, PROMPT, 8) == greedy(path, PROMPT, 8)
