"""A run's choice of kernels: measured on a graphics card, kept in the run, made again on resume."""

from __future__ import annotations

import asyncio
import random

import pytest

from tabgrad.checkpoint.folder import read_folder
from tabgrad.errors import KernelError
from tabgrad.gpu import autotune
from tabgrad.gpu.device import open_device
from tabgrad.gpu.variants import candidates, measured
from tabgrad.train import tuning
from tests.unit.runs import make_run, small, trained


@pytest.fixture(autouse=True)
def no_choices():
    measured.clear()
    yield
    measured.clear()


async def quick_measure(device, products, files=None, progress=None):
    """Autotune without its clock: a seeded choice among the candidates, like a noisy timer's."""
    draw = random.Random(7)
    for product in dict.fromkeys(products):
        measured[(device.info.key, *product)] = draw.choice(candidates(*product))


def test_software_adapters_keep_the_defaults_that_were_measured_for_them(tmp_path):
    run = asyncio.run(trained(tmp_path, small(max_steps=2), "run"))
    assert measured == {}
    assert read_folder(asyncio.run(run.store.load("run")).files).state["kernels"] == []


def test_a_graphics_card_is_measured_once(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "runs_on_cpu", lambda info: False)
    monkeypatch.setattr(autotune, "TARGET_MS", 1.0)
    monkeypatch.setattr(autotune, "ROUNDS", 1)
    run = asyncio.run(trained(tmp_path, small(max_steps=2), "run"))
    stages = [stage for stage in run.named("stage") if stage["stage"] == "tuning"]
    assert stages and stages[-1]["done"] == stages[-1]["total"] == len(measured)
    assert (tmp_path / autotune.FILE).exists()
    again = asyncio.run(trained(tmp_path, small(max_steps=2), "again"))
    assert not [stage for stage in again.named("stage") if stage["stage"] == "tuning"]


def test_a_resumed_run_keeps_its_kernels_and_so_its_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "runs_on_cpu", lambda info: False)
    monkeypatch.setattr(autotune, "measure", quick_measure)

    async def scenario():
        whole = await trained(tmp_path / "whole", small(), "whole")
        chosen = dict(measured)
        assert len({variant.consts["BLOCK_M"] for variant in chosen.values()}) > 1

        first = await make_run(tmp_path / "parts", small(), "parts")
        first.start()
        await first.until(lambda: first.trainer.step >= 8)
        await first.trainer.stop()
        measured.clear()

        async def nothing(*_):
            return []
        monkeypatch.setattr(autotune, "measure", nothing)
        second = await trained(tmp_path / "parts", small(), "parts")
        assert measured == chosen
        assert {**first.losses, **second.losses} == whole.losses
    asyncio.run(scenario())


@pytest.mark.parametrize("change", [
    {"consts": {"BLOCK_M": "8u; evil", "BLOCK_N": 8, "GROUP": 8}},
    {"consts": {"BLOCK_M": 4096, "BLOCK_N": 8, "GROUP": 8}},
    {"kernel": "adamw"}, {"kernel": "../adamw"}, {"op": "evil"}, {"m": 0}, {"consts": None}])
def test_a_strangers_choices_are_refused(change):
    async def row():
        device = await open_device("webgpu")
        key, variant = (device.info.key, "matmul_nt", 8, 8, 8), candidates("matmul_nt", 8, 8, 8)[0]
        measured[key] = variant
        return autotune.choices(device.info)[0]
    good = asyncio.run(row())
    autotune.restore([good])
    with pytest.raises(KernelError):
        autotune.restore([{**good, **change}])
