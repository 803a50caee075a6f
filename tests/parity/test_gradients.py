"""Every gradient of every family against Transformers: what trains is what was loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from transformers.models.qwen3_5 import modeling_qwen3_5

from tabgrad.gpu.device import Device
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import Recipe
from tabgrad.models.state import from_files, to_files
from tabgrad.tensor import Tensor
from tests.checkpoints import FAMILIES, PROMPT, config_of, oracle, save
from tests.helpers import run

LIMIT = 1e-4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gradients")


def weights(path: Path) -> dict[str, np.ndarray]:
    """All tensors of all files of a checkpoint."""
    return {name: array for file in path.glob("*.safetensors")
            for name, array in load_file(file).items()}


def expected_gradients(path: Path, ids: torch.Tensor, recipe: Recipe) -> dict[str, np.ndarray]:
    """d(mean cross-entropy)/d(tensor) by Transformers, under our names."""
    logits = oracle(path)(ids[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    return gradients_of(path, loss, recipe)


def gradients_of(path: Path, loss: torch.Tensor, recipe: Recipe) -> dict[str, np.ndarray]:
    """d(loss)/d(tensor) of the oracle of a folder, under our names."""
    model = oracle(path)
    model.zero_grad()
    loss.backward()
    holder = {id(parameter): parameter for parameter in model.parameters()}
    saved = model.state_dict(keep_vars=True)
    names = {name: holder[id(value)] for name, value in saved.items() if id(value) in holder}
    gradients = {name: parameter.grad for name, parameter in names.items()}
    with torch.no_grad():  # as save_pretrained would write them: experts apart again
        for name, parameter in names.items():
            parameter.data, gradients[name] = gradients[name].clone(), parameter.data
        model.save_pretrained(path.parent / f"{path.name}-gradients")
        for name, parameter in names.items():
            parameter.data = gradients[name]
    return from_files(recipe, weights(path.parent / f"{path.name}-gradients"))


@pytest.fixture(autouse=True)
def exact_delta_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transformers' chunks lose four digits of the decay's gradient in float32; its other form of
    the same rule, position after position, does not."""
    monkeypatch.setattr(modeling_qwen3_5, "torch_chunk_gated_delta_rule",
                        modeling_qwen3_5.torch_recurrent_gated_delta_rule)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_gradient(device: Device, folder: Path, family: str) -> None:
    path = save(family, folder)
    recipe = recipe_from_config(config_of(path))
    decoder = Decoder(recipe)
    arena = decoder.arena
    state = from_files(recipe, weights(path))
    arena.write(arena.weights, state)
    again = to_files(recipe, run(arena.read(arena.weights)))
    assert all(np.array_equal(again[name].reshape(-1), array.reshape(-1))
               for name, array in weights(path).items() if name in again)
    ids = PROMPT[:66].reshape(2, 33)
    inputs, targets = (Tensor.from_numpy(np.ascontiguousarray(part, np.uint32))
                       for part in (ids[:, :-1], ids[:, 1:]))
    decoder.loss(inputs, targets).backward()
    found = run(arena.read(arena.gradients))
    expected = expected_gradients(path, torch.tensor(ids), recipe)
    assert set(found) == set(expected)
    for name, gradient in expected.items():
        scale = scale_of(name, expected)
        error = float(np.abs(found[name] - gradient).max())
        assert error <= LIMIT * scale, f"{name}: {error:.2e} of {scale:.2e}"
        assert scale > 0, f"{name}: a gradient of zeros proves nothing"


def scale_of(name: str, gradients: dict[str, np.ndarray]) -> float:
    """The largest component of a gradient.

    Softmax does not see a number that is added to all its inputs: in exact arithmetic the bias of
    the keys has the gradient 0 (without rotary positions), so it is measured by its neighbours'.
    """
    parts = [name]
    if name.endswith("k_proj.bias"):
        parts = [name.replace("k_proj", part) for part in ("q_proj", "k_proj", "v_proj")]
    return max(float(np.abs(gradients[part]).max()) for part in parts)
