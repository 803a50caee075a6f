"""Adapters against PEFT: the same gradients and losses, and files that go both ways."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig as PeftConfig
from peft import PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.models.qwen3_5 import modeling_qwen3_5

from tabgrad.gpu.device import Device
from tabgrad.lora import Adapter, LoraConfig, files
from tabgrad.models.decoder import Decoder
from tabgrad.optim import AdamW
from tabgrad.tensor import Tensor
from tests import real_models
from tests.checkpoints import PROMPT, oracle, save
from tests.helpers import run
from tests.parity.test_checkpoints import loaded, whole, written

LIMIT = 1e-4
LOGITS = 2e-4
GREEDY = 12
STEPS = 10
TEXT = PROMPT[:17]
ROWS = PROMPT[:16]  # as many as the plan that reads the first of TEXT has: they share kernels
RATE, DECAY = 1e-3, 0.1
TRAINED = ("llama", "gemma3_text", "phi", "qwen3_5_text", "qwen3_moe")
EXCHANGED = {"llama": {"use_rslora": True, "rank_pattern": {"layers.1.self_attn.q_proj": 3},
                       "alpha_pattern": {"layers.1.self_attn.q_proj": 10}},
             "gpt2": {}, "phi3": {}, "qwen3_5_text": {}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lora")


@pytest.fixture(autouse=True)
def exact_delta_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in test_gradients.py: Transformers' chunks lose four digits of the decay's gradient."""
    monkeypatch.setattr(modeling_qwen3_5, "torch_chunk_gated_delta_rule",
                        modeling_qwen3_5.torch_recurrent_gated_delta_rule)


def checkpoint(folder: Path, family: str) -> Path:
    path = folder / f"{family}-float32"
    return path if path.is_dir() else save(family, folder)


def peft_model(path: Path, **settings: Any) -> PeftModel:
    """PEFT's model with random A and B."""
    torch.manual_seed(3)
    settings = {"r": 4, "lora_alpha": 8, "target_modules": "all-linear", **settings}
    base = copy.deepcopy(oracle(path))
    return get_peft_model(base, PeftConfig(init_lora_weights=False, task_type="CAUSAL_LM",
                                           **settings))


def by_name(model: PeftModel, gradients: bool = False) -> dict[str, np.ndarray]:
    """A and B of every module under the names that the files have."""
    return {name.replace(".default.", "."):
            (parameter.grad if gradients else parameter.detach()).numpy().copy()
            for name, parameter in model.named_parameters() if parameter.requires_grad}


def peft_loss(model: PeftModel, ids: np.ndarray) -> torch.Tensor:
    rows = torch.tensor(ids.astype(np.int64))
    logits = model(rows[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


def loss(decoder: Decoder, ids: np.ndarray) -> Tensor:
    inputs, targets = (Tensor.from_numpy(np.ascontiguousarray(part, np.uint32))
                       for part in (ids[:, :-1], ids[:, 1:]))
    return decoder.loss(inputs, targets)


@pytest.mark.parametrize("family", TRAINED)
def test_gradients_and_ten_steps(device: Device, folder: Path, family: str) -> None:
    path = checkpoint(folder, family)
    decoder = loaded(device, path)
    rows = PROMPT[:34].reshape(2, 17)
    before = loss(decoder, rows).numpy()
    adapter = Adapter(decoder, LoraConfig(r=4, lora_alpha=8, target_modules="all-linear"))
    adapter.attach()

    fresh = loss(decoder, rows)
    assert fresh.numpy().tobytes() == before.tobytes()
    fresh.backward()
    found = run(adapter.arena.read(adapter.arena.gradients))
    first = [name for name in found if ".layers.0." in name and ".lora_B." in name]
    assert len(first) >= 4
    assert all(np.abs(found[name]).max() > 0 for name in first)
    assert all(one.grad is None for _, one in decoder.named_parameters())

    model = peft_model(path, target_modules=[*adapter.config.target_modules])
    adapter.write(by_name(model))
    losses, gradients = trained_by_peft(model, rows)
    optimizer = AdamW(adapter.arena, RATE, weight_decay=DECAY)
    for step, expected in enumerate(losses):
        optimizer.zero_grad()
        ours = loss(decoder, rows)
        ours.backward()
        assert abs(float(ours.numpy()) - expected) <= LIMIT, f"step {step}"
        if step == 0:
            check_gradients(adapter.to_peft(run(adapter.arena.read(adapter.arena.gradients))),
                            gradients)
        optimizer.step()


def trained_by_peft(model: PeftModel,
                    ids: np.ndarray) -> tuple[list[float], dict[str, np.ndarray]]:
    """The losses of STEPS steps of AdamW, and the gradients of the first."""
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], RATE,
                                  weight_decay=DECAY)
    losses: list[float] = []
    first: dict[str, np.ndarray] = {}
    for _ in range(STEPS):
        optimizer.zero_grad()
        measured = peft_loss(model, ids)
        measured.backward()
        first = first or by_name(model, gradients=True)
        losses.append(float(measured.detach()))
        optimizer.step()
    assert losses[0] - losses[-1] > 0.05, "losses that stay where they are prove little"
    return losses, first


def check_gradients(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """Every gradient within LIMIT of its largest component."""
    assert set(found) == set(expected)
    for name, gradient in expected.items():
        scale = float(np.abs(gradient).max())
        error = float(np.abs(found[name] - gradient).max())
        assert error <= LIMIT * scale, f"{name}: {error:.2e} of {scale:.2e}"
        assert scale > 0, f"{name}: a gradient of zeros proves nothing"


def read_folder(path: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in path.iterdir()}


def write_folder(path: Path, adapter: Adapter) -> Path:
    path.mkdir()
    for name, pieces in files.write(run(adapter.state()), adapter.config, "base").items():
        (path / name).write_bytes(b"".join(pieces))
    return path


def peft_logits(model: Any, ids: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return model.eval()(torch.tensor(ids[None].astype(np.int64))).logits[0].numpy()


def peft_greedy(model: Any, ids: np.ndarray, count: int) -> list[int]:
    with torch.no_grad():
        text = model.eval().generate(input_ids=torch.tensor(ids[None].astype(np.int64)),
                                     do_sample=False, max_new_tokens=count, min_new_tokens=count,
                                     eos_token_id=-1, pad_token_id=0)
    return text[0, len(ids):].tolist()


@pytest.mark.parametrize("family", EXCHANGED)
def test_files_go_both_ways(device: Device, folder: Path, family: str) -> None:
    path = checkpoint(folder, family)
    model = peft_model(path, **EXCHANGED[family])
    model.save_pretrained(folder / f"{family}-theirs")
    config, state = files.read(read_folder(folder / f"{family}-theirs"))
    decoder = loaded(device, path)
    without = whole(decoder, ROWS)
    adapter = Adapter.opened(decoder, config, state)
    adapter.attach()
    expected = peft_logits(model, ROWS)
    assert np.abs(whole(decoder, ROWS) - expected).max() <= LOGITS
    assert np.abs(without - expected).max() > 100 * LOGITS
    assert written(decoder, TEXT, GREEDY) == peft_greedy(model, TEXT, GREEDY)

    adapter.write({name: array if "lora_A" in name else -array for name, array in state.items()})
    again = PeftModel.from_pretrained(copy.deepcopy(oracle(path)),
                                      write_folder(folder / f"{family}-ours", adapter))
    assert all(np.array_equal(array, -state[name] if "lora_B" in name else state[name])
               for name, array in loaded_tensors(again).items())
    assert np.abs(whole(decoder, ROWS) - peft_logits(again, ROWS)).max() <= LOGITS


def loaded_tensors(model: PeftModel) -> dict[str, np.ndarray]:
    """A and B as PEFT has them after it read our files."""
    found = {name.replace(".default.", "."): parameter.detach().numpy()
             for name, parameter in model.named_parameters() if ".lora_" in name}
    assert found
    return found


def test_glass_en(device: Device, folder: Path) -> None:
    """A trained model of real text, its weights in float16: both ways, and the same words."""
    path = real_models.glass_en()
    tokenizer = AutoTokenizer.from_pretrained(path)
    base = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    torch.manual_seed(5)
    model = get_peft_model(base, PeftConfig(r=8, lora_alpha=4, init_lora_weights=False,
                                            target_modules=["q_proj", "v_proj", "down_proj"]))
    model.save_pretrained(folder / "glass-theirs")
    config, state = files.read(read_folder(folder / "glass-theirs"))
    decoder = loaded(device, path)
    assert decoder.model.layers[0].mlp.down_proj.weight.dtype == "float16"
    ids = np.array(tokenizer("Once upon a time").input_ids)
    alone = written(decoder, ids, 24)
    adapter = Adapter.opened(decoder, config, state)
    adapter.attach()
    text = written(decoder, ids, 24)
    assert text == peft_greedy(model, ids, 24)
    assert text != alone
    again = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32),
        write_folder(folder / "glass-ours", adapter))
    assert np.abs(whole(decoder, ids) - peft_logits(again, ids)).max() <= LOGITS
