"""The estimate of a run's memory against what is then allocated, and what would fit instead."""

from __future__ import annotations

import gc
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tabgrad.app.estimate import estimate_run
from tabgrad.checkpoint.stored_model import open_folder
from tabgrad.errors import KernelError, OutOfMemory
from tabgrad.gpu.counting_gpu import CountingDevice
from tabgrad.gpu.device import Device, current_device, open_device, use_device
from tabgrad.gpu.numpy_gpu import NumpyGpu
from tabgrad.models.decoder import Decoder
from tabgrad.platform.native_files import NativeFiles
from tabgrad.train.base import Base, BaseName
from tabgrad.train.finetune import FineTuning, planned
from tabgrad.train.finetune_settings import FineTuneSettings
from tabgrad.train.memory import BlankRows, Memory, estimate, fit, of_repeats
from tabgrad.train.pretrain import pretrain_step, windows
from tabgrad.train.settings import TrainSettings
from tests import checkpoints, talking_model
from tests.helpers import opened, run

FAMILIES = ("llama", "gpt2", "qwen3_moe", "qwen3_5_text")
SETTINGS = FineTuneSettings.from_dict({
    "context_length": 24, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2,
    "lora": {"r": 4, "lora_dropout": 0.1, "target_modules": ["all-linear"]}})


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Base]:
    """A tiny model of each family. No prompt is asked, so that one tokenizer does for all."""
    folder = tmp_path_factory.mktemp("bases")
    paths = {family: checkpoints.save(family, folder, "bfloat16") for family in FAMILIES[1:]}
    paths["llama"] = talking_model.save(folder)

    async def read() -> dict[str, Base]:
        name = BaseName("base", "Base", None, {})
        models = {family: await open_folder(NativeFiles(folder), path.name)
                  for family, path in paths.items()}
        talking = await Base.open(models["llama"], name)
        return {family: replace(talking, model=model) for family, model in models.items()}
    return run(read())


def tuning(device: Device, settings: FineTuneSettings, base: Base,
           ) -> Coroutine[Any, Any, FineTuning]:
    rows = BlankRows(settings, packed=settings.packing, held_out=True)
    return planned(device, settings, base, rows)


async def training(device: Device, settings: TrainSettings) -> object:
    decoder = Decoder(settings.recipe)
    text = np.zeros(settings.context_length + 1, np.uint8)
    step = pretrain_step(decoder, settings, windows(settings, text))
    await step.compile()
    return step


def allocated(device: Device, build: Coroutine[Any, Any, object]) -> int:
    """Bytes that a real device holds once it is built; and closes it."""
    use_device(device)
    before = device.gpu.counters()["bytes"]
    held = run(build)
    taken = device.gpu.counters()["bytes"] - before
    device.close()
    assert held is not None
    return taken


@pytest.mark.parametrize("on", [False, True], ids=["kept", "checkpointing"])
@pytest.mark.parametrize("preset", ["readable-llm", "tiny", "byte-tinygpt"])
def test_pretraining(preset: str, on: bool) -> None:
    settings = TrainSettings.for_preset(preset, gradient_checkpointing=on)
    # Native where its few kernels are soon compiled; NumPy allocates alike and compiles nothing.
    device = run(open_device("webgpu" if preset == "readable-llm" else "numpy"))
    memory = estimate(lambda counting: training(counting, settings), device.info)
    assert memory.total == allocated(device, training(device, settings))
    assert memory.refused is None and memory.moments == 2 * memory.gradients


def test_what_recomputing_saves_is_told_before_a_run(device: Device) -> None:
    settings = TrainSettings.for_preset("byte-tinygpt")
    kept, again, halves = (
        estimate_run(replace(settings, **changes), device, 1.0)["memory"]["activations"]
        for changes in ({}, {"gradient_checkpointing": True},
                        {"gradient_checkpointing": True, "activation_dtype": "float16"}))
    assert halves < again < kept / 4
    absurd = replace(settings, per_device_train_batch_size=4096)
    with pytest.raises(OutOfMemory, match="with batches of 256 instead of 4096"):
        estimate_run(absurd, device, 1.0)

    def measure(some: TrainSettings) -> Memory:
        return estimate(lambda counting: training(counting, some), device.info)
    found = fit(settings, measure(settings).total * 9 // 10, measure)
    assert found is not None and found[0] == replace(settings, gradient_checkpointing=True)
    assert "activations recomputed (gradient_checkpointing)" in found[1]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", ["full", "lora"])
@pytest.mark.parametrize("on", [False, True], ids=["kept", "checkpointing"])
def test_finetuning(bases: dict[str, Base], family: str, method: str, on: bool) -> None:
    settings = replace(SETTINGS, method=method, gradient_checkpointing=on,
                       activation_dtype="float16" if on else "float32")
    device, base = Device(NumpyGpu()), bases[family]
    memory = estimate(lambda counting: tuning(counting, settings, base), device.info)
    assert memory.total == pytest.approx(allocated(device, tuning(device, settings, base)), rel=0.1)
    assert min(memory.parts().values()) > 0
    assert memory.gradients == (memory.weights if method == "full" else memory.moments // 2)


def test_many_micro_batches(bases: dict[str, Base]) -> None:
    settings = replace(SETTINGS, gradient_accumulation_steps=7)
    device, base = Device(NumpyGpu()), bases["llama"]

    def measure(some: FineTuneSettings) -> Memory:
        return estimate(lambda counting: tuning(counting, some, base), device.info)
    counted, whole = of_repeats(settings, measure), measure(settings)
    assert counted.total == pytest.approx(whole.total, rel=0.01)
    assert counted.batches == whole.batches


def test_what_would_fit(bases: dict[str, Base]) -> None:
    info, base = opened("numpy").info, bases["llama"]
    settings = replace(SETTINGS, context_length=64, per_device_train_batch_size=8,
                       gradient_accumulation_steps=1)

    def measure(some: FineTuneSettings) -> Memory:
        return estimate(lambda counting: tuning(counting, some, base), info)
    whole = measure(settings).total
    assert fit(settings, whole, measure) == (settings, f"It takes {whole / 1e6:.1f} MB, "
                                                       "which fits.")
    proposed = []
    for part in (0.9, 0.25):
        found = fit(settings, int(whole * part), measure)
        assert found is not None and measure(found[0]).total <= whole * part
        assert found[0].tokens_per_step in (512, 256) and f"{whole / 1e6:.1f} MB" in found[1]
        proposed.append(found[0])
    assert proposed[0] == replace(settings, gradient_checkpointing=True)
    assert proposed[1].per_device_train_batch_size < 8 and proposed[1].tokens_per_step == 512
    assert fit(settings, 1000, measure) is None


def test_an_absurd_batch_is_refused_with_what_would_fit(device: Device,
                                                        bases: dict[str, Base]) -> None:
    settings = replace(SETTINGS, context_length=1024, per_device_train_batch_size=4096)
    base, before = bases["llama"], device.gpu.counters()["live_buffers"]
    with pytest.raises(OutOfMemory, match=r"Expected: at most \d+.*Received: .*smaller batch"):
        run(tuning(device, settings, base))
    gc.collect()  # a decoder and its adapter name each other
    device.trim()
    assert device.gpu.counters()["live_buffers"] <= before, "what was made on the way is freed"

    def measure(some: FineTuneSettings) -> Memory:
        return of_repeats(some, lambda one: estimate(
            lambda counting: tuning(counting, one, base), device.info))
    assert isinstance(measure(settings).refused, OutOfMemory)
    found = fit(settings, None, measure)
    assert found is not None and measure(found[0]).refused is None
    assert "larger than this adapter allows" in found[1]


def test_counting_gives_nothing_to_read_and_leaves_the_device(device: Device) -> None:
    counting = CountingDevice(device.info)
    region = counting.allocate(1000, "model.norm.weight").region
    assert counting.gpu.counters()["bytes"] == 1000
    with pytest.raises(KernelError, match="only counts"):
        run(counting.read(region))

    async def waits(other: Device) -> None:
        await Never()
    with pytest.raises(RuntimeError, match="must not wait"):
        estimate(waits, device.info)
    assert current_device() is device


class Never:
    """Waits for ever."""

    def __await__(self):
        yield
