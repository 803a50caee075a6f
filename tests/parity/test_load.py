"""What a checkpoint may look like, what is refused, and by which words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tabgrad import platform
from tabgrad.autograd import no_grad
from tabgrad.checkpoint.load import load_decoder
from tabgrad.checkpoint.models import open_folder
from tabgrad.errors import CheckpointError, TabgradError
from tabgrad.generate.sampling import Sampling
from tabgrad.generate.session import Session
from tabgrad.gpu.device import Device
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.decoder import Decoder
from tabgrad.tensor import Tensor
from tests.checkpoints import PROMPT, config_of, greedy, logits, save
from tests.helpers import run

LIMIT = 2e-4


async def load(device: Device, path: Path) -> Decoder:
    model = await open_folder(platform.current().files(str(path.parent)), path.name)
    return await load_decoder(device, model)


def copied(path: Path, name: str) -> Path:
    target = path.parent / name
    shutil.copytree(path, target)
    return target


def changed(path: Path, name: str, change, config: dict | None = None) -> Path:
    """A copy of a checkpoint whose tensors went through `change`, with other config fields."""
    target = copied(path, name)
    tensors = load_file(target / "model.safetensors")
    save_file({key: tensor.contiguous() for key, tensor in change(tensors).items()},
              target / "model.safetensors")
    if config:
        (target / "config.json").write_text(json.dumps({**config_of(target), **config}))
    return target


def whole(decoder: Decoder) -> np.ndarray:
    with no_grad():
        return decoder(Tensor.from_numpy(PROMPT[None].astype(np.uint32))).numpy()[0]


def test_gpt2_without_its_prefix_and_with_old_masks(device, tmp_path: Path) -> None:
    path = save("gpt2", tmp_path)

    def old(tensors: dict) -> dict:
        bare = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
        return {**bare, "h.0.attn.bias": torch.ones(1, 1, 4, 4),
                "lm_head.weight": bare["wte.weight"].clone()}
    found = whole(run(load(device, changed(path, "old", old))))
    assert np.abs(found - logits(path, PROMPT)).max() <= LIMIT


def test_the_text_part_of_a_model_that_sees(device, tmp_path: Path) -> None:
    path = save("qwen3_5_text", tmp_path, tie_word_embeddings=True)

    def seeing(tensors: dict) -> dict:
        named = {name.replace("model.", "model.language_model.", 1): tensor
                 for name, tensor in tensors.items()}
        return {**named, "model.visual.blocks.0.attn.qkv.weight": torch.ones(4, 4),
                "mtp.fc.weight": torch.ones(4, 4)}
    target = changed(path, "seeing", seeing)
    text = {**config_of(path), "tie_word_embeddings": False}
    (target / "config.json").write_text(json.dumps(
        {"model_type": "qwen3_5", "text_config": text, "vision_config": {}}))
    found = whole(run(load(device, target)))
    assert np.abs(found - logits(path, PROMPT)).max() <= LIMIT


@pytest.mark.parametrize(("change", "told"), [
    (lambda t: {**t, "model.layers.0.adapter.weight": torch.ones(2, 2)},
     "model.layers.0.adapter.weight.*nothing reads it"),
    (lambda t: {n: x for n, x in t.items() if "layers.1.mlp.up_proj" not in n},
     "model.layers.1.mlp.up_proj.weight.*missing"),
    (lambda t: {**t, "model.norm.weight": torch.ones(5)}, "model.norm.weight has the wrong shape"),
    (lambda t: {**t, "model.norm.weight": t["model.norm.weight"].to(torch.int32)},
     "model.norm.weight has numbers that are not read"),
    (lambda t: {n: x.to(torch.bfloat16) if "layers.0.self_attn.q_proj" in n else x
                for n, x in t.items()}, "differ in precision"),
])
def test_tensors_that_do_not_fit_are_named(device, tmp_path: Path, change, told: str) -> None:
    path = changed(save("qwen3", tmp_path), "changed", change)
    with pytest.raises(TabgradError, match=told):
        run(load(device, path))


@pytest.mark.parametrize(("config", "told"), [
    ({"model_type": "bert"}, "does not know this kind of model.*llama.*'bert'"),
    ({"model_type": None}, "does not know this kind of model"),
    ({"model_type": ["llama"]}, "does not know this kind of model"),
    ({"quantization_config": {"bits": 4}}, "quantised"),
    ({"hidden_act": "relu"}, "hidden_act"),
    ({"num_hidden_layers": 2**40}, "num_hidden_layers"),
    ({"num_attention_heads": -1}, "num_attention_heads"),
    ({"num_key_value_heads": 4}, "num_key_value_heads|multiple"),
    ({"vocab_size": "many"}, "vocab_size"),
    ({"rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4}}, "longrope"),
    ({"layer_types": ["full_attention", "mamba", "full_attention"]}, "layer_types"),
])
def test_configs_that_are_not_computed_are_named(tmp_path: Path, config: dict, told: str) -> None:
    path = save("qwen3", tmp_path)
    with pytest.raises(TabgradError, match=told):
        recipe_from_config({**config_of(path), **config})


@pytest.mark.parametrize("family", ["llama", "gemma3_text", "phi"])
def test_flat_configs_of_transformers_4(tmp_path: Path, family: str) -> None:
    """Files of the hub say rope_theta and rope_scaling; Transformers 5 says rope_parameters."""
    config = config_of(save(family, tmp_path))
    new = recipe_from_config(config)
    rope = config.pop("rope_parameters")
    if family == "gemma3_text":
        config |= {"rope_theta": rope["full_attention"]["rope_theta"],
                   "rope_local_base_freq": rope["sliding_attention"]["rope_theta"],
                   "sliding_window_pattern": config["_sliding_window_pattern"]}
        del config["layer_types"]
    else:
        config |= {"rope_theta": rope.pop("rope_theta"),
                   "partial_rotary_factor": rope.pop("partial_rotary_factor", 1.0)}
        config["rope_scaling"] = rope if rope["rope_type"] != "default" else None
    assert recipe_from_config(config) == new


@pytest.mark.parametrize("rope", [
    {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0},
    {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
    {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "attention_factor": 1.2,
     "original_max_position_embeddings": 16}], ids=lambda rope: rope["rope_type"])
def test_scaled_rotary_positions(device, tmp_path: Path, rope: dict) -> None:
    """Over 32 known positions, so that `dynamic` changes with the length of the text."""
    path = save("llama", tmp_path, rope_parameters=rope, max_position_embeddings=32
                if rope["rope_type"] == "dynamic" else 256)
    decoder = run(load(device, path))
    assert np.abs(whole(decoder) - logits(path, PROMPT)).max() <= LIMIT

    async def written() -> list[int]:
        session = Session(decoder, 128)
        return [one.id async for drawn in session.generate(
            PROMPT.tolist(), Sampling(temperature=0.0), 20) for one in drawn]
    assert run(written()) == greedy(path, PROMPT, 20)


def test_log_probabilities_are_those_of_transformers(device, tmp_path: Path) -> None:
    path = save("qwen3", tmp_path)
    decoder = run(load(device, path))

    async def drawn() -> list:
        session = Session(decoder, 128)
        sampling = Sampling(temperature=1.3, seed=5, top_logprobs=7, top_p=0.9)
        return [one async for some in session.generate(PROMPT.tolist(), sampling, 20)
                for one in some]
    found = run(drawn())
    ids = np.concatenate([PROMPT, [one.id for one in found]])
    expected = torch.log_softmax(torch.tensor(logits(path, ids)), -1).numpy()[len(PROMPT) - 1:-1]
    for row, one in zip(expected, found, strict=True):
        assert abs(one.logprob - row[one.id]) <= 1e-4
        best = np.argsort(-row)[:7]
        assert [identity for identity, _ in one.alternatives] == best.tolist()
        assert np.abs(np.array([p for _, p in one.alternatives]) - row[best]).max() <= 1e-4


def test_a_model_that_is_too_wide_for_its_file(device, tmp_path: Path) -> None:
    path = save("qwen3", tmp_path)
    config = {**config_of(path), "hidden_size": 40}
    (path / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="has the wrong shape"):
        run(load(device, path))
