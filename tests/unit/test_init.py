"""The initial state: sizes, distributions, determinism, and the loss before training."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tabgrad import nn
from tabgrad.errors import SettingsError
from tabgrad.models.decoder import Decoder, parameter_count
from tabgrad.models.recipe import PRESETS, Recipe, preset
from tabgrad.tensor import Tensor
from tests.helpers import run


def initial_state(name: str, seed: int) -> dict[str, np.ndarray]:
    decoder = Decoder(preset(name), seed, trainable=False)
    return run(decoder.arena.read(decoder.arena.weights))


def test_byte_tinygpt_is_the_one_of_the_specification(device) -> None:
    decoder = Decoder(preset("byte-tinygpt"), seed=0)
    assert decoder.arena.parameter_count == 842_496
    assert decoder.parameter_count() == 842_496
    state = run(decoder.arena.read(decoder.arena.weights))
    shapes = {name: array.shape for name, array in state.items()}
    assert shapes["model.embed_tokens.weight"] == (256, 128)
    assert shapes["model.embed_positions.weight"] == (128, 128)
    assert shapes["model.layers.3.mlp.up_proj.weight"] == (512, 128)
    for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
        assert shapes[f"model.layers.0.self_attn.{part}.weight"] == (128, 128)
        assert shapes[f"model.layers.0.self_attn.{part}.bias"] == (128,)
    assert not any("lm_head" in name for name in shapes)


@pytest.mark.parametrize("recipe", [
    *PRESETS.values(),
    Recipe(vocab_size=11, hidden_size=24, num_hidden_layers=3, num_attention_heads=6,
           num_key_value_heads=2, intermediate_size=40, max_position_embeddings=9,
           tie_word_embeddings=False)])
def test_parameter_count_from_the_recipe_alone(device, recipe: Recipe) -> None:
    assert parameter_count(recipe) == Decoder(recipe, seed=0).parameter_count()


def test_distributions(device) -> None:
    state = initial_state("byte-tinygpt", seed=0)
    for name, array in state.items():
        if name.endswith("bias"):
            assert not array.any(), name
        elif "norm" in name:
            assert (array == 1).all(), name
        else:
            writes_to_stream = name.endswith(("o_proj.weight", "mlp.down_proj.weight"))
            std = 0.02 / math.sqrt(2 * 4) if writes_to_stream else 0.02
            error = 5 / math.sqrt(array.size)  # five standard errors
            assert abs(array.mean()) < error * std, name
            assert abs(array.std() / std - 1) < error, name
            assert np.abs(array).max() > 3 * std, name


def test_seeds(device) -> None:
    one, again, other = (initial_state("tiny", seed) for seed in (1, 1, 2))
    assert all(np.array_equal(one[name], again[name]) for name in one)
    name = "model.layers.0.self_attn.q_proj.weight"
    assert not np.array_equal(one[name], other[name])
    assert not np.array_equal(one[name], one[name.replace("q_proj", "k_proj")])
    assert abs(np.corrcoef(one[name].ravel(), other[name].ravel())[0, 1]) < 0.1


# The largest are the same recipes once more, wider.
@pytest.mark.parametrize("name", sorted(name for name in PRESETS if not name.endswith("15m")))
def test_untrained_loss_is_that_of_guessing(device, name: str) -> None:
    """ln V, and C sigma^2 / 2 for logits that are already C sigma^2 apart: E(log-sum-exp)."""
    recipe = preset(name)
    decoder = Decoder(recipe, seed=0, trainable=False)
    shape = (4, recipe.max_position_embeddings)
    draw = np.random.default_rng(0)
    ids, targets = (Tensor.from_numpy(draw.integers(0, recipe.vocab_size, shape).astype(np.uint32))
                    for _ in range(2))
    loss = decoder.loss(ids, targets)
    spread = recipe.hidden_size * recipe.initializer_range ** 2
    guessing = math.log(recipe.vocab_size) + spread / 2
    balance = recipe.experts.router_aux_loss_coef if recipe.experts else 0.0
    assert float(loss.numpy()) == pytest.approx(guessing + balance * _even(recipe), abs=0.05)


def _even(recipe: Recipe) -> float:
    """The balancing loss of experts that are asked alike, as Transformers counts it."""
    return float(recipe.experts.num_experts_per_tok) if recipe.experts else 0.0


def test_decay_groups(device) -> None:
    arena = Decoder(preset("byte-tinygpt"), seed=0).arena
    for name, parameter in arena.parameters.items():
        assert parameter.decay == (parameter.ndim == 2), name
        assert (arena.offsets[name] < arena.decayed) == parameter.decay, name


def test_layers_without_an_initializer_follow_manual_seed() -> None:
    def draw() -> np.ndarray:
        return nn.Linear(8, 8).weight.initial_values()
    nn.manual_seed(3)
    one, next_one = draw(), draw()
    nn.manual_seed(3)
    assert np.array_equal(draw(), one)
    assert not np.array_equal(one, next_one)


@pytest.mark.parametrize(("change", "field"), [
    ({"hidden_size": 0}, "hidden_size"), ({"hidden_size": 130}, "hidden_size"),
    ({"num_key_value_heads": 3}, "num_attention_heads"), ({"hidden_act": "relu"}, "hidden_act"),
    ({"vocab_size": 2.5}, "vocab_size"), ({"norm_eps": 0.0}, "norm_eps")])
def test_a_recipe_names_its_wrong_field(change: dict, field: str) -> None:
    fields = dict(vars(preset("byte-tinygpt")), head_dim=0)
    with pytest.raises(SettingsError) as error:
        Recipe(**(fields | change))
    assert error.value.control == field


def test_unknown_preset() -> None:
    with pytest.raises(SettingsError, match="byte-tinygpt or tiny"):
        preset("huge")
