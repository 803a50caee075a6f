"""Documents packed into rows have the loss and the gradients that they have one a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tabgrad.data.source import IGNORED
from tabgrad.gpu.device import Device
from tabgrad.lora import Adapter, LoraConfig
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.decoder import Decoder
from tabgrad.models.state import from_files
from tabgrad.nn import ParameterArena
from tabgrad.tensor import Tensor
from tests.checkpoints import FAMILIES, VOCABULARY, config_of, save
from tests.helpers import run

# Two rows of 48 positions; some documents are longer than the families' windows of 16 and 24. Rows
# of padding make the shapes equal, so that both ways run the same pipelines.
LENGTHS = [[29, 1, 11, 7], [1, 37, 2, 8], *[[48]] * 5]
PADDING = [(1, 3), *((row, 0) for row in range(2, 7))]  # row and number of what is no document
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}  # in rows of more than 32
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packing")


def documents() -> list[list[tuple[np.ndarray, np.ndarray]]]:
    """Ids and targets of each piece of each row; the last of a document, and padding, do not
    count."""
    rng = np.random.default_rng(4)
    rows = []
    for row, lengths in enumerate(LENGTHS):
        pieces = []
        for number, length in enumerate(lengths):
            ids = rng.integers(3, VOCABULARY, length).astype(np.uint32)
            targets = np.append(ids[1:], IGNORED).astype(np.uint32)
            if (row, number) in PADDING:
                ids, targets = np.zeros_like(ids), np.full_like(ids, IGNORED)
            pieces.append((ids, targets))
        rows.append(pieces)
    return rows


def packed() -> Rows:
    """ids, targets and starts (7, 48)."""
    rows = documents()
    ids, targets = (np.stack([np.concatenate([piece[part] for piece in pieces])
                              for pieces in rows]) for part in (0, 1))
    starts = np.stack([np.repeat(np.cumsum([0, *lengths[:-1]]), lengths) for lengths in LENGTHS])
    return ids, targets, starts.astype(np.uint32)


def one_a_row() -> tuple[np.ndarray, np.ndarray]:
    """ids and targets (7, 48), each row filled up behind its document."""
    pieces = [piece for row, pieces in enumerate(documents())
              for number, piece in enumerate(pieces) if (row, number) not in PADDING]
    ids = np.zeros((len(pieces), sum(LENGTHS[0])), np.uint32)
    targets = np.full_like(ids, IGNORED)
    for row, (own_ids, own_targets) in enumerate(pieces):
        ids[row, :len(own_ids)] = own_ids
        targets[row, :len(own_targets)] = own_targets
    return ids, targets


def loss_and_gradients(decoder: Decoder, *arrays: np.ndarray, arena: ParameterArena | None = None,
                       ) -> tuple[float, dict[str, np.ndarray]]:
    """The mean loss of the targets that count, and every gradient of the decoder or an adapter."""
    arena = arena or decoder.arena
    arena.clear_gradients()
    count = np.count_nonzero(arrays[1] != IGNORED)
    weight = Tensor.from_numpy(np.array([1 / count], np.float32))
    ids, targets, *starts = (Tensor.from_numpy(array) for array in arrays)
    loss = decoder.loss(ids, targets, *(starts or [None]), weight)
    loss.backward()
    return float(loss.numpy()), run(arena.read(arena.gradients))


def decoder_of(family: str, folder: Path, *, trainable: bool = True, **changes: Any) -> Decoder:
    """A tiny checkpoint of a family, to be trained or to be under an adapter."""
    path = save(family, folder, **changes)
    decoder = Decoder(recipe_from_config(config_of(path)), trainable=trainable)
    state = {name: array for file in path.glob("*.safetensors")
             for name, array in load_file(file).items()}
    decoder.arena.write(decoder.arena.weights, from_files(decoder.recipe, state))
    return decoder


@pytest.mark.parametrize(("family", "changes"), [
    *((family, {}) for family in FAMILIES),
    ("qwen3", {"rope_parameters": DYNAMIC, "max_position_embeddings": 32})])
def test_packed_equals_one_document_a_row(device: Device, folder: Path, family: str,
                                          changes: dict[str, Any]) -> None:
    compare(decoder_of(family, folder, **changes))


def test_an_adapter_of_a_hybrid(device: Device, folder: Path) -> None:
    decoder = decoder_of("qwen3_5_text", folder, trainable=False)
    adapter = Adapter(decoder, LoraConfig(r=3, target_modules=("in_proj_qkv", "in_proj_a")))
    draw = np.random.default_rng(1)
    adapter.arena.write(adapter.arena.weights, {
        name: draw.standard_normal(one.shape).astype(np.float32) / 8
        for name, one in adapter.parameters.items()})
    adapter.attach()
    compare(decoder, adapter.arena)


def compare(decoder: Decoder, arena: ParameterArena | None = None) -> None:
    """Packed rows against one document a row."""
    expected_loss, expected = loss_and_gradients(decoder, *one_a_row(), arena=arena)
    loss, gradients = loss_and_gradients(decoder, *packed(), arena=arena)
    assert abs(loss - expected_loss) <= 1e-6 * expected_loss
    largest = max(float(np.abs(array).max()) for array in expected.values())
    for name, array in expected.items():
        error = float(np.abs(gradients[name] - array).max())
        assert error <= 1e-5 * largest, f"{name}: {error / largest:.1e} of the largest component"


def test_without_starts_documents_see_each_other(device: Device, folder: Path) -> None:
    decoder = decoder_of("gpt2", folder)
    ids, targets, starts = packed()
    apart, _ = loss_and_gradients(decoder, ids, targets, starts)
    together, _ = loss_and_gradients(decoder, ids, targets)
    assert abs(apart - together) > 1e-4
