"""What is taken home opens in Transformers and PEFT, and computes what it computed here."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from tabgrad.checkpoint.folder import Checkpoint, write_folder, write_state
from tabgrad.checkpoint.models import open_folder
from tabgrad.errors import CheckpointError, SettingsError
from tabgrad.export.take_home import Taken, take_home
from tabgrad.lora import LoraConfig
from tabgrad.lora import files as adapter_files
from tabgrad.lora.names import tensor_names
from tabgrad.lora.targets import chosen
from tabgrad.models.decoder import parameter_shapes
from tabgrad.models.recipe import Recipe, preset
from tabgrad.models.state import to_files
from tabgrad.platform.native_files import NativeFiles
from tabgrad.reference.stored import rounded
from tabgrad.train.base import Base, BaseName
from tabgrad.train.history import History
from tests import checkpoints

CORPUS = {"name": "a | <b>.txt", "bytes": 12, "sha256": "00" * 32}
IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])


def _history() -> History:
    history = History()
    history.add(1, 5.5, 1e-3, 1.0)
    history.answers = [{"step": 0, "answers": [{"prompt": "Who?", "text": "Nobody | none"}]}]
    return history


def _write(folder: Path, files: dict) -> Path:
    folder.mkdir(parents=True)
    for name, pieces in files.items():
        (folder / name).write_bytes(b"".join(pieces))
    return folder


def _joined(files: dict) -> dict[str, bytes]:
    return {name: b"".join(pieces) for name, pieces in files.items()}


def _logits(folder: Path) -> np.ndarray:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        return model(IDS).logits.numpy()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_run_of_bytes_opens_in_transformers_with_a_tokenizer(tmp_path: Path, dtype: str) -> None:
    recipe = preset("tiny")
    draw = np.random.default_rng(1)
    weights = {name: 0.1 * draw.standard_normal(shape).astype(np.float32)
               for name, shape in parameter_shapes(recipe).items()}
    state = {"step": 1, "settings": {}, "history": _history().to_dict()}
    saved = _joined(write_folder(Checkpoint(recipe, weights, weights, weights, state)))
    record = {"parameters": 1, "corpus": CORPUS, "settings": {"max_steps": 1}}
    files = asyncio.run(take_home(Taken("quiet-otter", record, saved), "model", dtype, None))
    folder = _write(tmp_path / "home", files)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    assert str(model.dtype) == f"torch.{dtype}"
    for name, tensor in _reference(recipe, weights).items():
        ours = model.state_dict()[name].float().numpy()
        np.testing.assert_array_equal(ours, rounded(tensor, dtype), err_msg=name)
    text = "Naïve: 東京\n"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer(text)["input_ids"] == list(text.encode())
    assert tokenizer.decode(list(text.encode())) == text
    card = (folder / "README.md").read_text()
    assert "&lt;b&gt;" in card and "<b>" not in card and "5.5000" in card


def _reference(recipe: Recipe, weights: dict) -> dict:
    """Under the names of the file, by the writer that the round trip tests hold."""
    return to_files(recipe, weights)


FAMILIES = ["llama", "gpt2", "phi3", "qwen3_5_text"]


@pytest.mark.parametrize("family", FAMILIES)
def test_an_adapter_merges_into_its_base_as_peft_merges_it(tmp_path: Path, family: str) -> None:
    folder = checkpoints.save(family, tmp_path / "base")
    files = NativeFiles(folder)

    async def taken() -> tuple[dict, dict]:
        model = await open_folder(files, "", family)
        name = BaseName(family, family, None, {"model.safetensors": "aa"})
        base = Base(name, model, None, {})
        config = LoraConfig(r=3, lora_alpha=5.0, use_rslora=True, target_modules="all-linear")
        draw = np.random.default_rng(2)
        tensors = {}
        for module, target in chosen(config, base.recipe).items():
            a, b = tensor_names(module)
            tensors[a] = draw.standard_normal((3, target.in_features)).astype(np.float32)
            tensors[b] = 0.1 * draw.standard_normal((target.out_features, 3)).astype(np.float32)
        saved = _joined({**adapter_files.write(tensors, config, family),
                         "state.json": write_state({"step": 1, "base": name.to_dict(),
                                                    "history": _history().to_dict()})})
        record = {"parameters": 1, "trained_parameters": 2, "corpus": CORPUS, "settings": {}}
        run = Taken("red-kite", record, saved)
        other = Base(BaseName(family, family, None, {"model.safetensors": "bb"}), model, None, {})
        with pytest.raises(CheckpointError, match="belongs to another model"):
            await take_home(run, "model", "float32", other)
        with pytest.raises(SettingsError, match="precision"):
            await take_home(run, "model", "int8", base)
        return (await take_home(run, "adapter", "float32", None),
                await take_home(run, "model", "float32", base))

    adapter, merged = asyncio.run(taken())
    adapter_folder = _write(tmp_path / "adapter", adapter)
    ours = _logits(_write(tmp_path / "merged", merged))
    base = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    peft = PeftModel.from_pretrained(base, adapter_folder).eval()
    with torch.no_grad():
        theirs = peft(IDS).logits.numpy()
    plain = _logits(folder)
    assert np.abs(theirs - plain).max() > 1e-2, "the adapter must change something"
    assert np.abs(ours - theirs).max() <= 2e-4 * max(1.0, np.abs(theirs).max())
    assert json.loads((tmp_path / "merged" / "config.json").read_text())["dtype"] == "float32"
