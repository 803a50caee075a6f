"""Rotary tables against Transformers' own modules, for each rope type and both forms of config."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig
from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.phi.modeling_phi import PhiRotaryEmbedding
from transformers.models.phi3.modeling_phi3 import Phi3RotaryEmbedding
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5TextRotaryEmbedding

from tabgrad.errors import CheckpointError
from tabgrad.models.rotary import rotary_parameters, rotary_table

Config = dict[str, Any]
MODULES = {"llama": LlamaRotaryEmbedding, "phi": PhiRotaryEmbedding, "phi3": Phi3RotaryEmbedding,
           "qwen3_5_text": Qwen3_5TextRotaryEmbedding, "gemma3_text": Gemma3RotaryEmbedding}
SIZES: Config = {"hidden_size": 96, "num_attention_heads": 4, "num_hidden_layers": 2,
                 "max_position_embeddings": 64}
LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}
YARN = {"factor": 4.0, "original_max_position_embeddings": 16}


def theirs(config: Config, rows: int, layer_type: str | None = None, first: int = 0) -> np.ndarray:
    """The table of positions first, ..., rows - 1, read at once: (rows - first, r)."""
    settings = {name: value for name, value in config.items() if name != "model_type"}
    module = MODULES.get(config["model_type"], LlamaRotaryEmbedding)(
        AutoConfig.for_model(config["model_type"], **_deep(settings)))
    where = (torch.zeros(1), torch.arange(first, rows)[None])
    cos, sin = module(*where, layer_type) if layer_type else module(*where)
    half = cos.shape[-1] // 2
    assert torch.equal(cos[..., :half], cos[..., half:])
    return torch.cat([cos[0, :, :half], sin[0, :, :half]], dim=1).numpy()


def _deep(value: Any) -> Any:
    """A copy, because Transformers writes into what it is given."""
    return {name: _deep(one) for name, one in value.items()} if isinstance(value, dict) else value


def check(config: Config, rows: int = 150, layer_type: str | None = None) -> None:
    """Float32 leaves an angle of 150 an error of 1e-5: a bit in the frequency is that far out."""
    expected = theirs(config, rows, layer_type)
    received = rotary_table(rotary_parameters(config, layer_type), rows)
    assert received.dtype == np.float32
    assert received.shape == expected.shape
    np.testing.assert_allclose(received[:32], expected[:32], rtol=0, atol=4e-6)
    np.testing.assert_allclose(received, expected, rtol=0, atol=2e-5)


SCALINGS: dict[str, Config] = {
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 3.0},
    "llama3": {"rope_type": "llama3", **LLAMA3},
    "llama3 of known context": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
                                "high_freq_factor": 4},
    "yarn": {"rope_type": "yarn", **YARN},
    "yarn attention_factor": {"rope_type": "yarn", **YARN, "attention_factor": 0.7},
    "yarn mscale": {"rope_type": "yarn", **YARN, "mscale": 0.7, "mscale_all_dim": 1.3},
    "yarn one mscale": {"rope_type": "yarn", **YARN, "mscale": 0.7},
    "yarn betas": {"rope_type": "yarn", **YARN, "beta_fast": 8, "beta_slow": 0.5},
    "yarn whole": {"rope_type": "yarn", **YARN, "truncate": False},
    "yarn sharp": {"rope_type": "yarn", **YARN, "beta_fast": 1e-6, "beta_slow": 1e-7},
    "yarn ratio": {"rope_type": "yarn", **YARN, "factor": None},
}


@pytest.mark.parametrize("theta", [10000.0, 500000, 37.5])
@pytest.mark.parametrize("name", SCALINGS)
def test_rope_types(name: str, theta: float) -> None:
    scaling = SCALINGS[name]
    check({"model_type": "llama", **SIZES, "rope_parameters": {**scaling, "rope_theta": theta}})
    check({"model_type": "llama", **SIZES, "rope_theta": theta, "rope_scaling": scaling})


@pytest.mark.parametrize("config", [
    {"model_type": "llama", **SIZES},
    {"model_type": "llama", **SIZES, "head_dim": 20, "rope_scaling": None, "rope_theta": 1e6},
    {"model_type": "llama", **SIZES, "rope_scaling": {"type": "linear", "factor": 2.0}},
    {"model_type": "llama", **SIZES, "partial_rotary_factor": 0.5},
    {"model_type": "llama", **SIZES, "original_max_position_embeddings": 8,
     "rope_scaling": {"rope_type": "yarn", **YARN}},
    {"model_type": "mistral", **SIZES},
    {"model_type": "mixtral", **SIZES},
    {"model_type": "qwen2", **SIZES, "rope_theta": 1e6},
    {"model_type": "qwen3", **SIZES, "rope_theta": 1e6},
    {"model_type": "qwen3_moe", **SIZES, "rope_theta": 1e6, "head_dim": 16},
    {"model_type": "phi", **SIZES},
    {"model_type": "phi", **SIZES, "partial_rotary_factor": 0.4, "rope_theta": 1e5},
    {"model_type": "phi", **SIZES, "rope_parameters": {"rope_theta": 1e5,
                                                       "partial_rotary_factor": 0.75}},
    {"model_type": "phi", **SIZES, "partial_rotary_factor": 0.5,
     "rope_scaling": {"type": "linear", "factor": 2.0}},
    {"model_type": "phi", **SIZES, "rope_scaling": {"rope_type": "yarn", **YARN}},
    {"model_type": "phi3", **SIZES, "pad_token_id": 0},
    {"model_type": "phi3", **SIZES, "partial_rotary_factor": 0.75, "pad_token_id": 0},
    {"model_type": "qwen3_5_text", **SIZES},
    {"model_type": "qwen3_5_text", **SIZES, "head_dim": 32,
     "rope_parameters": {"rope_type": "default", "rope_theta": 1e7, "mrope_section": [2, 1, 1],
                         "mrope_interleaved": True, "partial_rotary_factor": 0.25}},
], ids=str)
def test_families(config: Config) -> None:
    check(config)


LAYERS = ["sliding_attention", "full_attention"]
GEMMA: Config = {"model_type": "gemma3_text", **SIZES, "head_dim": 24}


@pytest.mark.parametrize("layer_type", LAYERS)
@pytest.mark.parametrize("config", [
    GEMMA,
    {**GEMMA, "rope_theta": 1e5, "rope_local_base_freq": 2e4, "rope_scaling": None},
    {**GEMMA, "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "layer_types": LAYERS},
    {**GEMMA, "layer_types": LAYERS, "rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 3e4}}},
    {**GEMMA, "layer_types": LAYERS, "rope_parameters": {
        "full_attention": {"rope_type": "yarn", **YARN, "truncate": False},
        "sliding_attention": {"rope_type": "llama3", **LLAMA3}}},
], ids=str)
def test_a_table_for_each_type_of_layer(config: Config, layer_type: str) -> None:
    if "layer_types" not in config:
        config = {**config, "layer_types": LAYERS}
    check(config, layer_type=layer_type)


DYNAMIC: Config = {"model_type": "llama", **SIZES, "rope_theta": 1e4,
                   "rope_scaling": {"type": "dynamic", "factor": 2.5}}


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 150])
def test_dynamic_prompt(rows: int) -> None:
    received = rotary_table(rotary_parameters(DYNAMIC), rows, rows)
    np.testing.assert_allclose(received, theirs(DYNAMIC, rows), rtol=0, atol=2e-5)


def test_dynamic_decoding_turns_each_new_position_by_its_own_length() -> None:
    received = rotary_table(rotary_parameters(DYNAMIC), 150, 70)
    np.testing.assert_allclose(received[:70], theirs(DYNAMIC, 70), rtol=0, atol=2e-5)
    for position in (70, 71, 99, 149):
        expected = theirs(DYNAMIC, position + 1, first=position)
        np.testing.assert_allclose(received[position], expected[0], rtol=0, atol=2e-5)
    below = rotary_table(rotary_parameters(DYNAMIC), 64)
    np.testing.assert_allclose(below, theirs(DYNAMIC, 64), rtol=0, atol=2e-5)


def test_far_out_the_table_is_as_near_as_float32_allows() -> None:
    config = {"model_type": "llama", **SIZES, "rope_theta": 5e5,
              "rope_scaling": SCALINGS["llama3"], "max_position_embeddings": 131072}
    received = rotary_table(rotary_parameters(config), 131072)[-100:]
    expected = theirs(config, 131072)[-100:]
    # One bit of a frequency near 1 moves the angle of position 131071 by 131071 * 6e-8.
    np.testing.assert_allclose(received, expected, rtol=0, atol=0.016)


@pytest.mark.parametrize(("change", "named"), [
    ({"rope_scaling": {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [2.0]}},
     "longrope"),
    ({"rope_scaling": {"type": "su"}}, "su"),
    ({"model_type": "phi3", "rope_scaling": {"type": "yarn", **YARN}}, "yarn"),
    ({"rope_parameters": {"rope_type": ["default"]}}, "default"),
    ({"rope_scaling": {"type": "linear"}}, "factor"),
    ({"rope_scaling": {"type": "linear", "factor": -1}}, "factor"),
    ({"rope_scaling": {"type": "linear", "factor": "2"}}, "factor"),
    ({"rope_scaling": {"type": "yarn"}}, "factor"),
    ({"rope_scaling": {"type": "llama3", "factor": 2}}, "low_freq_factor"),
    ({"rope_scaling": {"type": "llama3", **LLAMA3, "high_freq_factor": 1}}, "high_freq_factor"),
    ({"rope_scaling": [1]}, "rope_scaling"),
    ({"rope_theta": 0}, "rope_theta"),
    ({"rope_theta": 1.0}, "rope_theta"),
    ({"rope_theta": float("inf")}, "rope_theta"),
    ({"max_position_embeddings": None}, "max_position_embeddings"),
    ({"head_dim": True}, "head_dim"),
    ({"partial_rotary_factor": 0.5, "rope_scaling": {"type": "linear", "factor": 2}}, "whole"),
    ({"model_type": "phi", "partial_rotary_factor": 1.5}, "36"),
    ({"model_type": "phi", "partial_rotary_factor": 0.01}, "turn"),
    ({"rope_parameters": {"full_attention": {"rope_type": "default"}}}, "sliding_attention"),
], ids=str)
def test_what_is_not_computed_is_refused_by_its_name(change: Config, named: str) -> None:
    with pytest.raises(CheckpointError, match=named):
        rotary_parameters({"model_type": "llama", **SIZES, **change}, "sliding_attention")
