"""AdamW, clipping and schedules against PyTorch and Transformers; the others: test_optimizers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import (
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_linear_schedule_with_warmup,
    get_wsd_schedule,
)
from transformers.trainer_utils import SchedulerType

from tabgrad import nn
from tabgrad.errors import CheckpointError, SettingsError
from tabgrad.optim import SCHEDULES, AdamW, cosine_with_warmup
from tests.helpers import run

SHAPES = {"a.weight": (7, 33), "a.bias": (7,), "b.weight": (65, 64), "b.bias": (65,)}


class Two(nn.Module):
    def __init__(self) -> None:
        self.a = nn.Linear(33, 7)
        self.b = nn.Linear(64, 65)


def torch_side(state: dict[str, np.ndarray], weight_decay: float):
    parameters = {name: torch.nn.Parameter(torch.tensor(x)) for name, x in state.items()}
    groups = [{"params": [p for p in parameters.values() if p.ndim == 2],
               "weight_decay": weight_decay},
              {"params": [p for p in parameters.values() if p.ndim == 1], "weight_decay": 0.0}]
    return parameters, torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.999), eps=1e-8)


def test_arena_lays_out_decayed_first_and_aligned(device) -> None:
    arena = nn.ParameterArena(Two())
    offsets = arena.offsets
    assert offsets["a.weight"] == 0
    assert max(offsets["a.weight"], offsets["b.weight"]) < arena.decayed
    assert arena.decayed <= min(offsets["a.bias"], offsets["b.bias"])
    assert all(offset % 64 == 0 for offset in offsets.values())
    assert arena.parameter_count == sum(int(np.prod(shape)) for shape in SHAPES.values())


def test_arena_round_trip_and_refusals(device) -> None:
    arena = nn.ParameterArena(Two())
    rng = np.random.default_rng(0)
    state = {n: rng.standard_normal(s).astype(np.float32) for n, s in SHAPES.items()}
    arena.write(arena.weights, state)
    back = run(arena.read(arena.weights))
    assert all(np.array_equal(back[name], state[name]) for name in SHAPES)
    with pytest.raises(CheckpointError, match="b.bias"):
        arena.write(arena.weights, {n: x for n, x in state.items() if n != "b.bias"})
    with pytest.raises(CheckpointError, match="c.weight"):
        arena.write(arena.weights, state | {"c.weight": state["a.weight"]})
    with pytest.raises(CheckpointError, match="a.bias has the wrong shape"):
        arena.write(arena.weights, state | {"a.bias": np.zeros(8, np.float32)})


@pytest.mark.parametrize("max_norm", [0.0, 0.5, 1e9])
def test_adamw_equals_torch(device, max_norm: float) -> None:
    arena = nn.ParameterArena(Two())
    adamw = AdamW(arena, betas=(0.9, 0.999), weight_decay=0.1, max_grad_norm=max_norm)
    parameters, oracle = torch_side(run(arena.read(arena.weights)), weight_decay=0.1)
    rng = np.random.default_rng(1)
    for step in range(5):
        gradients = {n: rng.standard_normal(s).astype(np.float32) for n, s in SHAPES.items()}
        rate = 1e-2 / (step + 1)
        arena.write(arena.gradients, gradients)
        adamw.step(rate)
        for name, gradient in gradients.items():
            parameters[name].grad = torch.tensor(gradient)
        norm = torch.nn.utils.clip_grad_norm_(parameters.values(), max_norm or float("inf"))
        for group in oracle.param_groups:
            group["lr"] = rate
        oracle.step()
        measured = np.frombuffer(run(device.read(adamw.norm)), np.float32)
        assert measured[0] == pytest.approx(norm.item(), rel=1e-5)
    weights = run(arena.read(arena.weights))
    for name, parameter in parameters.items():
        np.testing.assert_allclose(weights[name], parameter.detach().numpy(), rtol=0, atol=2e-6)


def test_gradient_scale_is_the_mean_of_micro_batches(device) -> None:
    rng = np.random.default_rng(2)
    gradients = {n: rng.standard_normal(s).astype(np.float32) for n, s in SHAPES.items()}
    results = []
    for scale in (1.0, 0.25):
        nn.manual_seed(5)
        arena = nn.ParameterArena(Two())
        adamw = AdamW(arena, max_grad_norm=1.0)
        arena.write(arena.gradients, {n: g / np.float32(scale) for n, g in gradients.items()})
        scalars = np.array(adamw.scalars(0, 1e-2, scale), np.float32)
        region = device.allocate(16, "scalars").region
        device.write(region, scalars.tobytes())
        adamw.record_update(region)
        results.append(run(arena.read(arena.weights)))
    for name in SHAPES:
        np.testing.assert_allclose(results[1][name], results[0][name], rtol=0, atol=1e-7)


def test_recorded_update_takes_new_scalars_at_each_replay(device) -> None:
    """A frozen learning rate in a replayed plan would be silently wrong."""
    arena = nn.ParameterArena(Two())
    adamw = AdamW(arena, weight_decay=0.1, max_grad_norm=1.0)
    parameters, oracle = torch_side(run(arena.read(arena.weights)), weight_decay=0.1)
    rng = np.random.default_rng(3)
    gradients = {n: rng.standard_normal(s).astype(np.float32) for n, s in SHAPES.items()}
    arena.write(arena.gradients, gradients)
    feed = device.allocate(16, "scalars").region
    with device.recording() as recording:
        adamw.record_update(feed)
    plan = run(recording.compile(label="update"))
    rates = [1e-2, 5e-3, 0.0, 2e-2]
    data = np.array([adamw.scalars(step, rate) for step, rate in enumerate(rates)], np.float32)
    run(device.replay([plan], feed, data.tobytes(), steps=len(rates)))
    for rate in rates:
        for name, gradient in gradients.items():
            parameters[name].grad = torch.tensor(gradient)
        torch.nn.utils.clip_grad_norm_(parameters.values(), 1.0)
        for group in oracle.param_groups:
            group["lr"] = rate
        oracle.step()
    weights = run(arena.read(arena.weights))
    for name, parameter in parameters.items():
        np.testing.assert_allclose(weights[name], parameter.detach().numpy(), rtol=0, atol=2e-6)


def wsd_of(optimizer: torch.optim.Optimizer, warmup: int, steps: int):
    return get_wsd_schedule(optimizer, warmup, num_decay_steps=steps // 5,
                            num_training_steps=steps)


@pytest.mark.parametrize(("name", "oracle"), [
    ("cosine", get_cosine_schedule_with_warmup), ("linear", get_linear_schedule_with_warmup),
    ("constant_with_warmup",
     lambda optimizer, warmup, _: get_constant_schedule_with_warmup(optimizer, warmup)),
    ("warmup_stable_decay", wsd_of)])
@pytest.mark.parametrize("warmup", [0, 1, 7])
def test_schedules_equal_transformers(name: str, oracle, warmup: int) -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=3e-4)
    schedule = oracle(optimizer, warmup, 40)
    for step in range(45):
        ends = step > 40 and name != "constant_with_warmup"
        expected = 0.0 if ends else optimizer.param_groups[0]["lr"]
        assert SCHEDULES[name](step, 3e-4, warmup, 40, 0.0) == pytest.approx(expected, abs=1e-12)
        optimizer.step()
        schedule.step()


def test_schedules_have_the_names_of_transformers() -> None:
    assert set(SCHEDULES) <= {kind.value for kind in SchedulerType}


def test_a_stable_run_can_be_made_longer_and_a_long_warm_up_leaves_less_to_decay() -> None:
    stable = SCHEDULES["warmup_stable_decay"]
    assert [stable(step, 1.0, 5, 100) for step in range(80)] == [
        stable(step, 1.0, 5, 1000) for step in range(80)]
    late = [stable(step, 1.0, 95, 100, 0.1) for step in range(120)]
    assert late[:95] == pytest.approx([step / 95 for step in range(95)])
    assert late[95] == 1.0 and late[100:] == pytest.approx([0.1] * 20)
    assert late[95:101] == sorted(late[95:101], reverse=True)


def test_cosine_ends_at_its_lowest_rate() -> None:
    rates = [cosine_with_warmup(step, 1.0, 5, 50, 0.1) for step in range(60)]
    assert max(rates) == rates[5] == 1.0
    assert rates[50:] == pytest.approx([0.1] * 10)


@pytest.mark.parametrize(("settings", "field"), [
    ({"betas": (1.0, 0.9)}, "adam_beta1"), ({"betas": (0.9, -0.1)}, "adam_beta2"),
    ({"epsilon": float("nan")}, "adam_epsilon"), ({"weight_decay": -1.0}, "weight_decay"),
    ({"max_grad_norm": float("inf")}, "max_grad_norm")])
def test_settings_out_of_range_are_named(device, settings: dict, field: str) -> None:
    with pytest.raises(SettingsError) as error:
        AdamW(nn.ParameterArena(Two()), **settings)
    assert error.value.control == field
