"""A config.json may hold anything: it becomes a decoder, or a clear refusal, and at once."""

from __future__ import annotations

import math

import pytest

from tabgrad.errors import CheckpointError, TabgradError
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.decoder import parameter_shapes
from tests.checkpoints import FAMILIES

JUNK = (None, True, 0, -1, 1, 0.5, 2**31 - 1, 2**31, 10**30, math.nan, math.inf, "x", "1e-5", [],
        [[]], [1], ["full_attention"], {}, {"full_attention": {}})
FIELDS = (
    "attention_bias", "decoder_sparse_step", "final_logit_softcapping", "full_attention_interval",
    "head_dim", "initializer_range", "layer_norm_eps", "layer_norm_epsilon", "layer_types",
    "linear_conv_kernel_dim", "linear_key_head_dim", "linear_num_key_heads",
    "linear_num_value_heads", "linear_value_head_dim", "max_window_layers", "mlp_only_layers",
    "model_type", "n_inner", "num_experts", "num_local_experts", "num_key_value_heads",
    "partial_rotary_factor", "quantization_config", "query_pre_attn_scalar", "rms_norm_eps",
    "rope_local_base_freq", "rope_parameters", "rope_scaling", "rope_theta", "sliding_window",
    "sliding_window_pattern", "text_config", "use_sliding_window")


@pytest.mark.parametrize("family", FAMILIES)
def test_junk_in_any_field(family: str) -> None:
    config = {**FAMILIES[family], "model_type": family}
    shapes = parameter_shapes(recipe_from_config(config))
    assert shapes
    refused = 0
    for field in {*FIELDS, *config}:
        for value in JUNK:
            try:
                recipe = recipe_from_config({**config, field: value})
                if recipe.num_hidden_layers < 10:
                    parameter_shapes(recipe)
            except TabgradError:
                refused += 1
    assert refused > 100


@pytest.mark.parametrize(("family", "field", "value"), [
    ("llama", "num_hidden_layers", 2**31 - 1), ("gpt2", "n_layer", 2**31 - 1),
    ("mixtral", "num_local_experts", 2**31 - 1), ("qwen3_5_text", "full_attention_interval", 0),
    ("qwen3_moe", "mlp_only_layers", [[1]]), ("mistral", "sliding_window", "all"),
    ("llama", "rms_norm_eps", "1e-5"), ("gemma3_text", "query_pre_attn_scalar", [])])
def test_the_field_is_named(family: str, field: str, value: object) -> None:
    with pytest.raises(CheckpointError, match=field):
        recipe_from_config({**FAMILIES[family], "model_type": family, field: value})
