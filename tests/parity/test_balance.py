"""The load-balancing loss of experts: loss and every gradient equal Transformers'."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tabgrad.gpu.device import Device
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import Recipe
from tabgrad.models.state import from_files
from tabgrad.tensor import Tensor
from tests.checkpoints import PROMPT, config_of, oracle, save
from tests.helpers import run
from tests.parity.test_gradients import LIMIT, gradients_of, scale_of, weights

COEFFICIENT = 0.5  # large, so that its part of the gradient counts
IDS = PROMPT[:66].reshape(2, 33)


def measured(recipe: Recipe, state: dict[str, np.ndarray], checkpointing: bool,
             ) -> tuple[float, dict[str, np.ndarray]]:
    """Loss and gradients here."""
    decoder = Decoder(recipe)
    decoder.gradient_checkpointing = checkpointing
    decoder.arena.write(decoder.arena.weights, state)
    inputs, targets = (Tensor.from_numpy(np.ascontiguousarray(part, np.uint32))
                       for part in (IDS[:, :-1], IDS[:, 1:]))
    loss = decoder.loss(inputs, targets)
    loss.backward()
    return float(loss.numpy()), run(decoder.arena.read(decoder.arena.gradients))


@pytest.mark.parametrize("family", ["mixtral", "qwen3_moe"])
def test_loss_and_every_gradient(device: Device, tmp_path: Path, family: str) -> None:
    path = save(family, tmp_path, output_router_logits=True, router_aux_loss_coef=COEFFICIENT)
    recipe = recipe_from_config(config_of(path))
    assert recipe.experts is not None and recipe.experts.router_aux_loss_coef == COEFFICIENT
    state = from_files(recipe, weights(path))
    loss, found = measured(recipe, state, checkpointing=False)
    ids = torch.tensor(IDS)
    expected_loss = oracle(path)(ids[:, :-1], output_router_logits=True, labels=ids[:, :-1],
                                 shift_labels=ids[:, 1:].contiguous()).loss
    assert abs(loss - float(expected_loss.detach())) < 1e-4
    expected = gradients_of(path, expected_loss, recipe)
    assert set(found) == set(expected)
    for name, gradient in expected.items():
        error = float(np.abs(found[name] - gradient).max())
        assert error <= LIMIT * scale_of(name, expected), name
    again, kept = measured(recipe, state, checkpointing=True)
    assert again == loss and all(np.array_equal(kept[name], found[name]) for name in found)
