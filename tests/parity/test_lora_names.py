"""Which modules get an adapter, against Transformers' modules and PEFT's matching."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from peft import LoraConfig as PeftConfig
from peft.tuners.tuners_utils import check_target_module_exists
from transformers import AutoConfig, AutoModelForCausalLM

from tabgrad.lora import LoraConfig, targets
from tabgrad.lora.targets import chosen
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.recipe import Recipe
from tests.checkpoints import FAMILIES

MIXTURES = ("mixtral", "qwen3_moe")
CONFIGS: list[dict[str, Any]] = [
    {"target_modules": ["q_proj", "v_proj", "c_attn", "qkv_proj"]},
    {"target_modules": ["self_attn.o_proj", "attn.c_proj", "dense", "in_proj_qkv"]},
    {"target_modules": ["proj", "lm_head", "attn.c_attn", "v_proj"]},
    {"target_modules": r".*\.[12]\..*(o|v|c|qkv)_(proj|attn)"},
    {"target_modules": r"q_proj|c_attn|.*layers\.0\..*k_proj|.*qkv_proj|.*h\.0\.attn.*"},
    {"target_modules": ["v_proj", "c_attn", "qkv_proj"], "layers_to_transform": [0, 2]},
    {"target_modules": ["v_proj", "c_attn", "qkv_proj", "o_proj"], "layers_to_transform": 1,
     "exclude_modules": ["o_proj"]},
    {"target_modules": ["v_proj", "c_attn", "qkv_proj"], "exclude_modules": r".*\.1\..*"},
    {"target_modules": ["model.layers.1.self_attn.v_proj", "transformer.h.1.attn.c_attn",
                        "model.layers.1.self_attn.qkv_proj", "model.layers.1.self_attn.dense"],
     "layers_to_transform": [0]}]


@cache
def made(family: str) -> tuple[Recipe, dict[str, tuple[int, int]]]:
    """The recipe of a family, and its linear modules in Transformers: (in, out)."""
    config = AutoConfig.for_model(family, **FAMILIES[family])
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    linear = {}
    for name, module in model.named_modules():
        if type(module).__name__ in ("Linear", "Conv1D"):
            rows, columns = module.weight.shape
            linear[name] = ((rows, columns) if type(module).__name__ == "Conv1D"
                            else (columns, rows))
    if config.tie_word_embeddings:
        del linear["lm_head"]
    return recipe_from_config(config.to_dict()), linear


@pytest.mark.parametrize("family", FAMILIES)
def test_targets_are_the_linear_modules(family: str) -> None:
    recipe, linear = made(family)
    if family in MIXTURES:
        linear = {name: sizes for name, sizes in linear.items() if ".mlp." not in name}
    found = targets(recipe)
    assert {name: (one.in_features, one.out_features) for name, one in found.items()} == linear
    layers = [int(name.split(".")[2]) for name in found if name != "lm_head"]
    assert layers == sorted(layers)
    for one in found.values():
        rows = sorted(int(row) for part in one.parts for row in part.order)
        assert rows == list(range(one.out_features))


@pytest.mark.parametrize("settings", CONFIGS, ids=range(len(CONFIGS)))
@pytest.mark.parametrize("family", ["gpt2", "llama", "phi", "phi3", "qwen3_5_text", "mixtral"])
def test_matching_is_pefts(family: str, settings: dict[str, Any]) -> None:
    recipe, linear = made(family)
    peft = PeftConfig(**settings)
    expected = [name for name in linear if check_target_module_exists(peft, name) is True
                or getattr(check_target_module_exists(peft, name), "group", None)]
    layers = settings.get("layers_to_transform")
    ours = LoraConfig(**{name: tuple(value) if isinstance(value, list) else value
                         for name, value in settings.items() if name != "layers_to_transform"},
                      layers_to_transform=(layers,) if isinstance(layers, int)
                      else layers and tuple(layers))
    found = [name for name in targets(recipe) if ours.matches(name)]
    assert sorted(found) == sorted(expected)
    if found:
        assert list(chosen(ours, recipe)) == found
