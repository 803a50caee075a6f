"""Fine-tuning beside its oracle: losses, validation per token, and numbers that are none."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabgrad import platform
from tabgrad.checkpoint.models import open_folder
from tabgrad.data.dataset import Dataset
from tabgrad.data.parsing import parse
from tabgrad.data.tokens import tokenize
from tabgrad.errors import SettingsError
from tabgrad.gpu.device import Device
from tabgrad.train.base import Base, BaseName
from tabgrad.train.diverged import TrainingDiverged, diverged_in, explain
from tabgrad.train.finetune import FineTuning, finetuning
from tabgrad.train.finetune_settings import FineTuneSettings
from tests import finetune_oracle, real_models, talking_model

TEXTS = b"".join(b'{"text": "%d boats came home, and nobody asked who lit lamp %d."}\n' % (i, i)
                 for i in range(40))
LIMIT = 1e-4


async def build(device: Device, folder: Path, files: Path, data: bytes = TEXTS,
                **changes: Any) -> tuple[FineTuning, Dataset]:
    """The engine of a fine-tune of ten steps, and its rows."""
    settings = FineTuneSettings.from_dict({
        "context_length": 40, "per_device_train_batch_size": 2, "max_steps": 10,
        "learning_rate": 1e-3, "warmup_steps": 2, "weight_decay": 0.1, **changes})
    model = await open_folder(platform.current().files(str(folder.parent)), folder.name)
    base = await Base.open(model, BaseName(folder.name, folder.name, None, {}))
    dataset = Dataset(tokenize(parse("boats.jsonl", data), base.tokenizer),
                      settings.context_length, seed=settings.seed, packing=settings.packing,
                      gradient_accumulation_steps=settings.gradient_accumulation_steps)
    made = finetuning(settings, base, dataset, platform.current().files(str(files)))
    engine = await made(device, None, lambda *_: None)
    assert isinstance(engine, FineTuning)
    return engine, dataset


async def ten_steps(engine: FineTuning) -> list[float]:
    """The losses of all steps."""
    found = []
    for step in range(engine.settings.max_steps):
        measured, = engine.step.read(step, await engine.step.submit(step, 1))
        found.append(measured.loss)
    return found


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talking_model.save(tmp_path_factory.mktemp("talking"))


@pytest.mark.parametrize("changes", [
    {"method": "full", "gradient_accumulation_steps": 2},
    {"method": "full", "packing": False, "gradient_checkpointing": True}])
def test_ten_steps_of_every_weight_equal_transformers(device: Device, talking: Path,
                                                      tmp_path: Path, changes: dict) -> None:
    engine, dataset = asyncio.run(build(device, talking, tmp_path, **changes))
    ours = asyncio.run(ten_steps(engine))
    theirs = finetune_oracle.losses(finetune_oracle.model_of(talking, engine.settings, None),
                                    dataset, engine.settings)
    assert np.abs(np.subtract(ours, theirs)).max() <= LIMIT
    assert ours[-1] < ours[0] - 0.01


def test_ten_steps_of_an_adapter_equal_peft(device: Device, tmp_path: Path) -> None:
    folder = real_models.glass_en()
    engine, dataset = asyncio.run(build(
        device, folder, tmp_path, lora={"r": 4, "target_modules": ["all-linear"]},
        gradient_accumulation_steps=2))
    state = asyncio.run(engine.adapter.state())
    ours = asyncio.run(ten_steps(engine))
    theirs = finetune_oracle.losses(finetune_oracle.model_of(folder, engine.settings, state),
                                    dataset, engine.settings)
    assert np.abs(np.subtract(ours, theirs)).max() <= LIMIT
    assert ours[-1] < ours[0]


def test_validation_is_the_mean_over_all_tokens_that_count(device: Device, talking: Path,
                                                           tmp_path: Path) -> None:
    async def scenario() -> None:
        uneven = b"".join(b'{"text": "%s."}\n' % (b"Boats " * (1 + i % 5)) for i in range(40))
        engine, dataset = await build(device, talking, tmp_path, uneven, context_length=30,
                                      per_device_train_batch_size=1)
        batches = dataset.validation(1)
        assert len(batches) > 1 and len({batch.trained for batch in batches}) > 1
        model = finetune_oracle.model_of(talking, engine.settings, None)
        total = sum(float(finetune_oracle._sum(model, batch).detach()) for batch in batches)
        counted = sum(batch.trained for batch in batches)
        assert engine.validation is not None
        measured = await engine.validation.measure()
        assert measured == pytest.approx(total / counted, abs=1e-5)
    asyncio.run(scenario())


def test_a_number_that_is_none_names_step_and_tensor(device: Device, talking: Path,
                                                     tmp_path: Path) -> None:
    async def scenario() -> None:
        engine, _ = await build(device, talking, tmp_path)
        arena = engine.arena
        broken = await arena.read(arena.weights)
        name = next(iter(broken))
        broken[name][0, 0] = math.nan
        arena.write(arena.weights, broken)
        measured, = engine.step.read(3, await engine.step.submit(3, 1))
        assert not measured.is_finite
        with pytest.raises(TrainingDiverged, match="at step 4") as caught:
            await explain(diverged_in(measured, 2), engine)
        assert name in caught.value.message and "lora_A" in name
        assert "step 2 is kept" in caught.value.remedy
    asyncio.run(scenario())


@pytest.mark.parametrize(("values", "words"), [
    ({"method": "qlora"}, "method"), ({"held_out": 0.9}, "held_out"),
    ({"max_new_tokens": 0}, "max_new_tokens"), ({"prompts": [""]}, "prompts"),
    ({"prompts": "Hello"}, "prompts"), ({"packing": 1}, "packing"),
    ({"activation_dtype": "int8"}, "activation_dtype"),
    ({"activation_dtype": "float16"}, "activation_dtype"), ({"sample_steps": 5}, "sample_steps"),
    ({"lora": {"rank": 4}}, "rank"), ({"lora": 4}, "lora"),
    ({"lora": {"r": 0}}, "rank"), ({"lora": {"target_modules": "q_proj"}}, "target_modules"),
    ({"preset": "tiny"}, "preset")])
def test_a_bad_setting_names_its_field(values: dict, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        FineTuneSettings.from_dict(values)
    assert "preset" in values or caught.value.control


def test_settings_survive_json() -> None:
    for modules in (["q_proj", "v_proj"], ["all-linear"], [r".*\.(up|down)_proj"]):
        settings = FineTuneSettings.from_dict({"lora": {"target_modules": modules}})
        assert settings.to_dict()["lora"]["target_modules"] == modules
        assert FineTuneSettings.from_dict(settings.to_dict()) == settings
