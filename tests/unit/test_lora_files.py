"""Files of adapters: settings, hostile files, and the store."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabgrad import platform
from tabgrad.checkpoint.safetensors import encode
from tabgrad.errors import CheckpointError, SettingsError, StorageError
from tabgrad.lora import Adapter, AdapterStore, LoraConfig, files, targets
from tabgrad.lora.names import known_names
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import preset
from tests.helpers import run

C_PROJ = "base_model.model.transformer.h.0.mlp.c_proj"


def folder(changes: dict[str, Any] | None = None,
           tensors: dict[str, np.ndarray] | None = None) -> dict[str, bytes]:
    """An adapter of the "tiny" preset as files, with other fields or tensors."""
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["mlp.c_proj"],
              "layers_to_transform": 0, **(changes or {})}
    state = {f"{C_PROJ}.lora_A.weight": np.ones((2, 256), np.float32),
             f"{C_PROJ}.lora_B.weight": np.ones((64, 2), np.float32)}
    return {"adapter_config.json": json.dumps(config).encode(),
            "adapter_model.safetensors": b"".join(encode(state if tensors is None else tensors))}


def test_settings_survive_a_file() -> None:
    config = LoraConfig(r=3, lora_alpha=5, lora_dropout=0.1, use_rslora=True,
                        target_modules=r".*\.(q|v)_proj", exclude_modules=("k_proj",),
                        layers_to_transform=(0, 2), rank_pattern={"0.q_proj": 7},
                        alpha_pattern={"q_proj$": 2.5}, fan_in_fan_out=True)
    assert LoraConfig.from_json(config.to_json("base")) == config
    assert LoraConfig.from_json(LoraConfig().to_json("base")) == LoraConfig()


@pytest.mark.parametrize(("field", "value"), [
    ("r", 0), ("r", 2.5), ("r", True), ("r", 10**6), ("lora_alpha", -1), ("lora_alpha", "8"),
    ("lora_alpha", float("inf")), ("lora_dropout", 1.0), ("lora_dropout", None),
    ("target_modules", ()), ("target_modules", "("), ("rank_pattern", {"q": 0})])
def test_settings_out_of_range_are_named(field: str, value: Any) -> None:
    with pytest.raises(SettingsError):
        LoraConfig(**{field: value})


@pytest.mark.parametrize("changes", [
    {"peft_type": "LOHA"}, {"bias": "all"}, {"use_dora": True}, {"modules_to_save": ["lm_head"]},
    {"init_lora_weights": "pissa"}, {"init_lora_weights": ["x"]}, {"task_type": "SEQ_CLS"},
    {"target_parameters": ["mlp.experts.gate_up_proj"]}, {"layer_replication": [[0, 2]]},
    {"lora_bias": True}, {"trainable_token_indices": [1]}, {"invented": {"a": 1}},
    {"target_modules": None}, {"target_modules": [3]}, {"target_modules": {"a": 1}},
    {"layers_to_transform": ["0"]}, {"layers_pattern": "h"}, {"rank_pattern": ["q"]},
    {"rank_pattern": {"(a+)+b": 2}}, {"alpha_pattern": {".*.*.*.*x": 2}}, {"use_rslora": "yes"},
    {"alpha_pattern": {"[": 2}}, {"r": "2"}, {"lora_alpha": None, "r": -1}])
def test_what_is_not_built_in_is_refused_by_name(changes: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match=next(iter(changes)) if "r" not in changes
                       else "rank") as caught:
        files.read(folder(changes))
    assert "adapter_config.json" in str(caught.value)


def test_what_changes_nothing_is_passed_over() -> None:
    config, _ = files.read(folder({
        "use_dora": False, "modules_to_save": None, "megatron_core": "megatron.core",
        "qalora_group_size": 16, "base_model_name_or_path": "x", "inference_mode": True,
        "loftq_config": {}, "eva_config": None, "something_new": None, "lora_dropout": None}))
    assert (config.r, config.lora_alpha, config.target_modules) == (2, 4, ("mlp.c_proj",))


def pair(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{C_PROJ}.lora_A.weight": a, f"{C_PROJ}.lora_B.weight": b}


BROKEN = {
    "no tensors": {},
    "only A": {f"{C_PROJ}.lora_A.weight": np.ones((2, 256), np.float32)},
    "another rank": pair(np.ones((3, 256), np.float32), np.ones((64, 3), np.float32)),
    "three axes": pair(np.ones((2, 256, 1), np.float32), np.ones((64, 2), np.float32)),
    "no numbers": pair(np.ones((2, 0), np.float32), np.ones((64, 2), np.float32)),
    "whole numbers": pair(np.ones((2, 256), np.int32), np.ones((64, 2), np.float32)),
    "not finite": pair(np.full((2, 256), np.nan, np.float32), np.ones((64, 2), np.float32)),
    "a magnitude": {f"{C_PROJ}.lora_magnitude_vector": np.ones(64, np.float32)},
    "no prefix": {"lora_A.weight": np.ones((2, 256), np.float32)}}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_tensors_are_refused(name: str) -> None:
    with pytest.raises(CheckpointError):
        files.read(folder(tensors=BROKEN[name]))


def test_broken_files_are_refused() -> None:
    good = folder()
    with pytest.raises(CheckpointError, match="one adapter_model.safetensors"):
        files.read({name: data for name, data in good.items() if name.endswith("json")})
    with pytest.raises(CheckpointError, match="one adapter_config.json"):
        files.read({**good, "other/adapter_config.json": b"{}"})
    for name, data in (("adapter_config.json", b"[]"), ("adapter_config.json", b"{" * 2000),
                       ("adapter_config.json", b"{}" + b" " * (1 << 20)),
                       ("adapter_model.safetensors", b"\0" * 7),
                       ("adapter_model.safetensors", struct.pack("<Q", 2**62) + b"{}"),
                       ("adapter_model.safetensors", good["adapter_model.safetensors"][:-1])):
        with pytest.raises(CheckpointError):
            files.read({**good, name: data})


@pytest.mark.usefixtures("numpy_device")
def test_tensors_are_held_against_the_model() -> None:
    decoder = Decoder(preset("tiny"), trainable=False)
    config, state = files.read(folder())
    adapter = Adapter.opened(decoder, config, state)
    assert adapter.config.fan_in_fan_out, "GPT-2's files are transposed, which PEFT wants to know"
    found = run(adapter.state())
    assert set(found) == set(state) and all((found[name] == state[name]).all() for name in state)
    # The first GPT-2 checkpoints had no prefix, so that their adapters have none either.
    bare = {name.replace("transformer.", ""): array for name, array in state.items()}
    assert known_names(decoder.recipe, bare).keys() == state.keys()
    other = {name.replace("c_proj", "c_porj"): array for name, array in state.items()}
    with pytest.raises(CheckpointError, match="not for this model"):
        Adapter.opened(decoder, config, other)
    head = {name.replace("transformer.h.0.mlp.c_proj", "lm_head"): array
            for name, array in state.items()}
    with pytest.raises(CheckpointError, match="no weights of its own"):
        Adapter.opened(decoder, config, head)
    narrow = {name: array[:, :1] for name, array in state.items()}
    with pytest.raises(CheckpointError, match="does not fit"):
        Adapter.opened(decoder, config, narrow)
    with pytest.raises(CheckpointError, match="other tensors"):
        adapter.write({})


@pytest.mark.usefixtures("numpy_device")
def test_a_pattern_without_a_match_lists_what_there_is() -> None:
    with pytest.raises(SettingsError, match="c_attn, c_fc, c_proj, or all-linear"):
        Adapter(Decoder(preset("tiny"), trainable=False), LoraConfig(target_modules=("q_proj",)))
    assert {name.rpartition(".")[2] for name in targets(preset("tiny"))} == {
        "c_attn", "c_proj", "c_fc"}
    mixture = Decoder(preset("readable-llm"), trainable=False)
    for names in (("q_proj", "gate"), ("up_proj",), r".*proj", ("mlp.experts.w1",)):
        with pytest.raises(SettingsError, match="Experts of a mixture"):
            Adapter(mixture, LoraConfig(target_modules=names))
    config = Adapter(mixture, LoraConfig(target_modules="all-linear")).config
    assert {name.rpartition(".")[2] for name in config.target_modules} == {
        "q_proj", "k_proj", "v_proj", "o_proj"}


def test_the_store(tmp_path: Path) -> None:
    store = AdapterStore(platform.current().files(str(tmp_path)))
    assert run(store.list()) == []
    first = run(store.add("My notes", "tiny-model", folder()))
    second = run(store.add("My notes", "tiny-model", folder({"r": 2}), run="quiet-otter", step=40))
    assert (first.name, second.name) == ("My-notes", "My-notes-2")
    assert (second.run, second.step, second.model, second.parameters) == (
        "quiet-otter", 40, "tiny-model", 2 * 256 + 64 * 2)
    assert second.target_modules == ("c_proj",) and second.bytes > 2560
    assert run(store.list()) == [second, first]
    opened = run(store.open("My-notes-2"))
    assert opened.record == second and opened.config.lora_alpha == 4
    assert (opened.state[f"{C_PROJ}.lora_B.weight"] == 1).all()
    with pytest.raises(CheckpointError):
        run(store.add("worse", "tiny-model", folder({"use_dora": True})))
    run(store.delete("My-notes"))
    assert run(store.list()) == [second]
    assert sorted(path.name for path in (tmp_path / "adapters").iterdir()
                  if path.is_dir()) == ["My-notes-2"]


def test_damage_in_the_store(tmp_path: Path) -> None:
    store = AdapterStore(platform.current().files(str(tmp_path)))
    name = run(store.add("notes", "tiny-model", folder())).name
    weights = tmp_path / "adapters" / name / "adapter_model.safetensors"
    data = weights.read_bytes()
    for damaged in (data[:-4], data[:-1] + b"\1"):
        weights.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            run(store.open(name))
    record = tmp_path / "adapters" / name / "adapter.json"
    for text in ("{", "{}", '{"version": 1, "files": {}}', '{"version": 2}'):
        record.write_text(text)
        assert run(store.list()) == []
        with pytest.raises(CheckpointError):
            run(store.open(name))
    record.unlink()  # cut off before the last file
    assert run(store.list()) == []
    for wrong in (name, "nobody", "../models", "a/b"):
        with pytest.raises(StorageError):
            run(store.open(wrong))
    run(store.delete(name))
    assert not record.parent.exists()
