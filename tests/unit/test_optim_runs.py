"""Runs with every optimiser: stopped and resumed, refused where moments differ, and diverged."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest

from tabgrad.checkpoint.folder import read_folder
from tabgrad.errors import CheckpointError
from tabgrad.gpu.device import open_device
from tabgrad.models.decoder import Decoder
from tabgrad.train.diverged import TrainingDiverged
from tabgrad.train.optimizers import hidden_matrices
from tabgrad.train.settings import TrainSettings
from tests.unit.runs import make_run, small, trained
from tests.unit.test_resume import final_bits

RATES = {"adamw": 1e-3, "sgd": 5e-2, "lion": 2e-4, "muon": 1e-3}


def of(name: str, **changes) -> TrainSettings:
    return small(optim=name, learning_rate=RATES[name], **{"eval_steps": 0, **changes})


@pytest.mark.parametrize("name", ["sgd", "lion", "muon"])
def test_every_optimiser_learns_and_resumes_with_the_same_bits(tmp_path, monkeypatch, name):
    monkeypatch.setattr("tabgrad.train.trainer.chunk_steps", lambda step_ms: 2)

    async def scenario():
        settings = of(name, max_steps=16, gradient_accumulation_steps=2)
        whole = await trained(tmp_path / "whole", settings, "whole")
        assert whole.losses[16] < whole.losses[1] - 0.1
        first = await make_run(tmp_path / "parts", settings, "parts")
        first.start()
        await first.until(lambda: first.trainer.step >= 8)
        await first.trainer.stop()
        assert 8 <= first.trainer.step < 16
        second = await trained(tmp_path / "parts", settings, "parts")
        assert {**first.losses, **second.losses} == whole.losses
        bits = await final_bits(second)
        assert bits == await final_bits(whole)
        seconds = {kind for kind in bits if kind.startswith("second_moment.")}
        assert ("second_moment.model.embed_tokens.weight" in seconds) == (name == "muon")
        assert not any("proj.weight" in kind for kind in seconds)
    asyncio.run(scenario())


def test_a_checkpoint_of_another_optimiser_is_refused(tmp_path):
    async def scenario():
        await trained(tmp_path, of("sgd", max_steps=2), "r")
        for name in ("adamw", "lion", "muon"):
            run = await make_run(tmp_path, of(name, max_steps=4), "r")
            run.start()
            with pytest.raises(CheckpointError, match="another optimiser") as caught:
                await run.finish()
            problem = caught.value.problem()
            assert (problem["expected"], problem["received"]) == (name, "sgd")
            assert "sgd" in problem["remedy"] and problem["control"] == "optim"
            assert (await run.store.steps("r"))[-1] == 2
    asyncio.run(scenario())


def test_a_checkpoint_that_names_no_optimiser_is_adamws(tmp_path):
    async def scenario():
        run = await trained(tmp_path, of("adamw", max_steps=2), "r")
        files = dict((await run.store.load("r")).files)
        state = json.loads(files["state.json"])
        for name in ("optim", "momentum", "nesterov"):
            del state["settings"][name]
        files["state.json"] = json.dumps(state).encode()
        checkpoint = read_folder(files)
        assert checkpoint.optim == "adamw"
        assert set(checkpoint.second_moment) == set(checkpoint.weights)
        settings = TrainSettings.from_dict(state["settings"])
        assert settings == of("adamw", max_steps=2)
    asyncio.run(scenario())


def test_muon_takes_the_matrices_of_the_layers(device):
    decoder = Decoder(of("muon").recipe, 1)
    hidden = hidden_matrices(decoder)
    assert len(hidden) == 2 * 6
    assert all(decoder.arena.parameters[name].ndim == 2 for name in hidden)
    assert not any("embed" in name or "norm" in name or "bias" in name for name in hidden)


@pytest.mark.parametrize(("name", "field", "value", "words"), [
    ("adamw", "model.norm.weight", np.nan,
     "before the step, model.norm.weight held numbers that are not finite"),
    ("muon", "model.norm.weight", 3e38, "the weights are finite, the gradient of model.embed")])
def test_a_diverged_step_leaves_the_weights_and_names_step_and_tensor(
        tmp_path, monkeypatch, name, field, value, words):
    """Pieces of many steps are on the GPU when the first of them fails."""
    monkeypatch.setattr("tabgrad.train.trainer.chunk_steps", lambda step_ms: 5)
    monkeypatch.setattr("tabgrad.train.trainer.pieces_in_flight", lambda step_ms: 2)

    async def scenario():
        device = await open_device("webgpu")
        settings = of(name, max_steps=400, save_steps=1000)
        run = await make_run(tmp_path, settings, "d", device=device)
        run.start()
        await run.until(lambda: run.trainer.step >= 6)
        await run.trainer.pause()
        good = await run.trainer.save_now()
        engine = run.trainer.engine
        arena, optimizer = engine.decoder.arena, engine.step.optimizer
        broken = await arena.read(arena.weights)
        broken[field][:] = value
        arena.write(arena.weights, broken)
        weights, moments = await device.read(arena.weights), await optimizer.read_moments()
        await run.trainer.resume()
        with pytest.raises(TrainingDiverged, match=words) as caught:
            await run.finish()
        assert f"at step {good + 1}" in caught.value.message
        assert f"step {good} is kept" in caught.value.remedy
        assert await device.read(arena.weights) == weights
        after = await optimizer.read_moments()
        for kind, state in moments.items():
            assert all(np.array_equal(after[kind][key], state[key]) for key in state), kind
        assert (await run.store.steps("d"))[-1] == good
        assert run.named("state")[-1]["problem"]["message"] == caught.value.message
    asyncio.run(scenario())
