"""The saved folder is a GPT-2 that Transformers loads, and the way back is exact."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from tabgrad.errors import CheckpointError, SettingsError
from tabgrad.models.config_json import config_json
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import Recipe, preset
from tabgrad.models.state import from_files, to_files
from tabgrad.tensor import Tensor
from tests.helpers import run


def save_folder(folder: Path, decoder: Decoder) -> dict[str, np.ndarray]:
    state = run(decoder.arena.read(decoder.arena.weights))
    save_file(to_files(decoder.recipe, state), folder / "model.safetensors",
              metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config_json(decoder.recipe)))
    return state


def random_state(recipe: Recipe) -> dict[str, np.ndarray]:
    """Every tensor with numbers of its own, so that a swap cannot hide."""
    rng = np.random.default_rng(0)
    decoder = Decoder(recipe, seed=3)
    return {name: (0.05 * rng.standard_normal(p.shape)).astype(np.float32)
            for name, p in decoder.arena.parameters.items()}


@pytest.mark.parametrize("name", ["byte-tinygpt", "tiny"])
def test_transformers_computes_our_logits(device, tmp_path: Path, name: str) -> None:
    recipe = preset(name)
    decoder = Decoder(recipe, seed=3)
    decoder.arena.write(decoder.arena.weights, random_state(recipe))
    save_folder(tmp_path, decoder)
    model, report = GPT2LMHeadModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert not report["mismatched_keys"]
    config = model.config
    assert (config.activation_function, config.vocab_size) == ("gelu_new", 256)
    assert config.n_positions == recipe.max_position_embeddings
    assert config.tie_word_embeddings
    assert model.lm_head.weight.data_ptr() == model.transformer.wte.weight.data_ptr()
    ids = np.random.default_rng(1).integers(0, 256, (2, recipe.max_position_embeddings))
    ours = decoder(Tensor.from_numpy(ids.astype(np.uint32))).numpy()
    with torch.no_grad():
        theirs = model.eval()(torch.tensor(ids)).logits.numpy()
    assert np.abs(ours - theirs).max() <= 2e-4


def test_both_ways_bit_by_bit(device, tmp_path: Path) -> None:
    recipe = preset("byte-tinygpt")
    decoder = Decoder(recipe, seed=3)
    decoder.arena.write(decoder.arena.weights, random_state(recipe))
    state = save_folder(tmp_path, decoder)
    model = GPT2LMHeadModel.from_pretrained(tmp_path)
    theirs = tmp_path / "theirs"
    model.save_pretrained(theirs)
    back = from_files(recipe, load_file(theirs / "model.safetensors"))
    assert set(back) == set(state)
    assert all(np.array_equal(back[name], state[name]) for name in state)
    assert recipe_from_config(json.loads((theirs / "config.json").read_text())) == recipe


def test_a_model_made_by_transformers(device) -> None:
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=256, n_positions=32, n_embd=24, n_layer=2, n_head=3,
                        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    theirs = {name: p.detach().numpy() for name, p in model.named_parameters()}
    decoder = Decoder(recipe_from_config(config.to_dict()), seed=0)
    decoder.arena.write(decoder.arena.weights, from_files(decoder.recipe, theirs))
    again = to_files(decoder.recipe, run(decoder.arena.read(decoder.arena.weights)))
    assert all(np.array_equal(again[name], theirs[name]) for name in theirs)
    ids = np.random.default_rng(1).integers(0, 256, (1, 17))
    ours = decoder(Tensor.from_numpy(ids.astype(np.uint32))).numpy()
    with torch.no_grad():
        assert np.abs(ours - model(torch.tensor(ids)).logits.numpy()).max() <= 2e-4


def test_names_that_do_not_fit_are_named() -> None:
    state = {"transformer.wte.weight": np.zeros((4, 2), np.float32)}
    with pytest.raises(CheckpointError, match=r"transformer\.h\.0\.attn\.c_attn\.bias.*missing"):
        from_files(preset("tiny"), state)
    with pytest.raises(CheckpointError, match=r"embed_positions"):
        to_files(preset("tiny"), {"model.norm.bias": np.zeros(64, np.float32)})


@pytest.mark.parametrize(("change", "message"), [
    ({"model_type": "bert"}, "kind of model"), ({"n_embd": None}, "n_embd"),
    ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
    ({"activation_function": "relu"}, "activation"), ({"n_head": 5}, "num_attention_heads")])
def test_configs_that_we_do_not_compute_are_refused(change: dict, message: str) -> None:
    config = config_json(preset("tiny")) | change
    with pytest.raises((CheckpointError, SettingsError), match=message):
        recipe_from_config({name: value for name, value in config.items() if value is not None})
