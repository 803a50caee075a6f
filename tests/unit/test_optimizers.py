"""Every optimiser against PyTorch over ten steps, and the sentinel of every optimiser."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tabgrad import nn
from tabgrad.errors import CheckpointError, SettingsError
from tabgrad.gpu.device import Device
from tabgrad.optim import OPTIMIZERS, SGD, AdamW, Lion, Muon, Optimizer
from tests.helpers import opened, run

STEPS = 10
DECAY = 0.1
MAX_NORM = 20.0  # some steps are clipped and some are not
HIDDEN = ("wide.weight", "tall.weight")
Arrays = dict[str, np.ndarray]
Rule = Callable[[float], None]


class Net(nn.Module):
    """An embedding, a wide and a tall matrix, biases."""

    def __init__(self) -> None:
        self.table = nn.Embedding(10, 33)
        self.wide = nn.Linear(33, 7)
        self.tall = nn.Linear(64, 65)


@pytest.fixture(params=["webgpu", "numpy"])
def any_device(request) -> Device:
    return opened(request.param)


def gradients_of(arena: nn.ParameterArena, step: int) -> Arrays:
    rng = np.random.default_rng(step)
    size = 0.1 + 0.4 * (step % 2)
    return {name: (size * rng.standard_normal(parameter.shape)).astype(np.float32)
            for name, parameter in arena.parameters.items()}


def rate_of(step: int) -> float:
    return 1e-2 / (1 + step % 3)


def compare(optimizer: Optimizer, parameters: dict[str, torch.nn.Parameter], rule: Rule,
            error: float) -> None:
    """Ten steps on both sides; the weights stay within `error` of each other."""
    arena = optimizer.arena
    clipped = []
    for step in range(STEPS):
        gradients = gradients_of(arena, step)
        arena.write(arena.gradients, gradients)
        optimizer.step(rate_of(step))
        for name, parameter in parameters.items():
            parameter.grad = torch.tensor(gradients[name])
        norm = torch.nn.utils.clip_grad_norm_(parameters.values(), MAX_NORM)
        clipped.append(bool(norm > MAX_NORM))
        rule(rate_of(step))
        measured = np.frombuffer(run(arena.device.read(optimizer.norm)), np.float32)
        assert measured[0] == pytest.approx(norm.item(), rel=1e-5)
    assert set(clipped) == {True, False}
    weights = run(arena.read(arena.weights))
    for name, parameter in parameters.items():
        np.testing.assert_allclose(weights[name], parameter.detach().numpy(), rtol=0, atol=error,
                                   err_msg=name)


def arena_and_twin() -> tuple[nn.ParameterArena, dict[str, torch.nn.Parameter]]:
    nn.manual_seed(3)
    arena = nn.ParameterArena(Net())
    return arena, {name: torch.nn.Parameter(torch.tensor(array))
                   for name, array in run(arena.read(arena.weights)).items()}


def groups(parameters: dict[str, torch.nn.Parameter]) -> list[dict]:
    """Decay for what has two axes."""
    return [{"params": [p for p in parameters.values() if p.ndim == axes], "weight_decay": decay}
            for axes, decay in ((2, DECAY), (1, 0.0))]


def torch_rule(*optimizers: torch.optim.Optimizer) -> Rule:
    def step(rate: float) -> None:
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
    return step


def test_adamw_equals_torch(any_device) -> None:
    arena, parameters = arena_and_twin()
    adamw = AdamW(arena, weight_decay=DECAY, max_grad_norm=MAX_NORM)
    oracle = torch.optim.AdamW(groups(parameters), betas=(0.9, 0.999), eps=1e-8)
    compare(adamw, parameters, torch_rule(oracle), 2e-6)


@pytest.mark.parametrize(("momentum", "nesterov"), [(0.0, False), (0.9, False), (0.9, True)])
def test_sgd_equals_torch(any_device, momentum: float, nesterov: bool) -> None:
    arena, parameters = arena_and_twin()
    sgd = SGD(arena, momentum=momentum, nesterov=nesterov, weight_decay=DECAY,
              max_grad_norm=MAX_NORM)
    oracle = torch.optim.SGD(groups(parameters), lr=1.0, momentum=momentum, nesterov=nesterov)
    compare(sgd, parameters, torch_rule(oracle), 1e-6)


def test_lion_equals_the_formula_of_its_paper(any_device) -> None:
    arena, parameters = arena_and_twin()
    beta1, beta2 = 0.9, 0.99
    moments = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}

    @torch.no_grad()
    def rule(rate: float) -> None:
        for name, parameter in parameters.items():
            moment, gradient = moments[name], parameter.grad
            update = torch.sign(beta1 * moment + (1 - beta1) * gradient)
            decay = DECAY if parameter.ndim == 2 else 0.0
            parameter -= rate * (update + decay * parameter)
            moments[name] = beta2 * moment + (1 - beta2) * gradient

    lion = Lion(arena, betas=(beta1, beta2), weight_decay=DECAY, max_grad_norm=MAX_NORM)
    compare(lion, parameters, rule, 1e-6)


def muon_twin(parameters: dict[str, torch.nn.Parameter], nesterov: bool) -> Rule:
    hidden = [parameters[name] for name in HIDDEN]
    rest = {name: p for name, p in parameters.items() if name not in HIDDEN}
    return torch_rule(
        torch.optim.Muon(hidden, weight_decay=DECAY, momentum=0.95, nesterov=nesterov,
                         adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(groups(rest), betas=(0.9, 0.999), eps=1e-8))


@pytest.mark.parametrize("nesterov", [True, False])
def test_muon_equals_torch(any_device, monkeypatch, nesterov: bool) -> None:
    """PyTorch iterates in bfloat16, we in float32: here it has our precision."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda tensor: tensor.clone())
    arena, parameters = arena_and_twin()
    muon = Muon(arena, HIDDEN, nesterov=nesterov, weight_decay=DECAY, max_grad_norm=MAX_NORM)
    compare(muon, parameters, muon_twin(parameters, nesterov), 5e-6)


def test_muon_is_as_near_to_torch_as_bfloat16_allows(device) -> None:
    arena, parameters = arena_and_twin()
    before = run(arena.read(arena.weights))
    muon = Muon(arena, HIDDEN, weight_decay=DECAY, max_grad_norm=MAX_NORM)
    compare(muon, parameters, muon_twin(parameters, True), 3e-3)
    after = run(arena.read(arena.weights))
    for name in HIDDEN:
        ours = after[name] - before[name]
        theirs = parameters[name].detach().numpy() - before[name]
        assert np.linalg.norm(ours - theirs) < 0.02 * np.linalg.norm(theirs)


def test_muon_makes_matrices_orthogonal(any_device) -> None:
    arena, _ = arena_and_twin()
    muon = Muon(arena, HIDDEN, weight_decay=0.0)
    before = run(arena.read(arena.weights))
    arena.write(arena.gradients, gradients_of(arena, 0))
    muon.step(1.0)
    after = run(arena.read(arena.weights))
    for name in HIDDEN:
        step = (before[name] - after[name]) / (0.2 * np.sqrt(max(after[name].shape)))
        values = np.linalg.svd(step, compute_uv=False)
        assert values[:-2].min() > 0.5 and values.max() < 1.3, name


# --- the sentinel -------------------------------------------------------------------------------

def make(name: str, arena: nn.ParameterArena) -> Optimizer:
    kind = OPTIMIZERS[name]
    more = {"hidden": HIDDEN} if kind is Muon else {}
    return kind(arena, max_grad_norm=1.0, weight_decay=DECAY, **more)


def bits_of(optimizer: Optimizer) -> dict[str, bytes]:
    arena = optimizer.arena
    regions = {"weights": arena.weights,
               **{kind: region for kind, (region, _) in optimizer.moments().items()}}
    return {kind: run(arena.device.read(region)) for kind, region in regions.items()}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30], ids=["nan", "inf", "-inf", "big"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_update_with_a_gradient_that_is_not_finite_changes_nothing(
        any_device, name: str, bad: float) -> None:
    arena, _ = arena_and_twin()
    optimizer = make(name, arena)
    arena.write(arena.gradients, gradients_of(arena, 0))
    optimizer.step(1e-2)
    before = bits_of(optimizer)
    broken = gradients_of(arena, 1)
    broken["tall.bias"][64] = bad           # the very last of the arena; a square of 1e30 overflows
    arena.write(arena.gradients, broken)
    optimizer.step(1e-2)
    assert bits_of(optimizer) == before
    assert not np.isfinite(np.frombuffer(run(any_device.read(optimizer.norm)), np.float32)[0])
    arena.write(arena.gradients, gradients_of(arena, 2))
    optimizer.step(1e-2)                    # a step that was sent ahead is no better
    assert bits_of(optimizer) == before
    assert np.frombuffer(run(any_device.read(optimizer.halted)), np.uint32).tolist() == [1]


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_changes_nothing_either(
        any_device, bad: float, place: int) -> None:
    arena, _ = arena_and_twin()
    optimizer = AdamW(arena)
    losses = any_device.allocate(12, "losses").region
    scalars = any_device.allocate(16, "scalars").region
    any_device.write(scalars, np.array(optimizer.scalars(0, 1e-2), np.float32))
    arena.write(arena.gradients, gradients_of(arena, 0))
    before = bits_of(optimizer)
    values = np.ones(3, np.float32)
    values[place] = bad
    any_device.write(losses, values)
    optimizer.record_update(scalars, losses)
    assert bits_of(optimizer) == before
    norm = np.frombuffer(run(any_device.read(optimizer.norm)), np.float32)
    assert np.isfinite(norm).all()


# --- settings and moments -----------------------------------------------------------------------

@pytest.mark.parametrize(("kind", "settings", "field"), [
    (SGD, {"momentum": 1.0}, "momentum"), (SGD, {"weight_decay": -1.0}, "weight_decay"),
    (Lion, {"betas": (0.9, 1.0)}, "adam_beta2"), (Muon, {"momentum": -0.1}, "momentum"),
    (Muon, {"hidden": ["tall.bias"]}, "optim"), (Muon, {"hidden": ["tall"]}, "optim")])
def test_settings_out_of_range_are_named(device, kind, settings: dict, field: str) -> None:
    more = {"hidden": HIDDEN} if kind is Muon else {}
    with pytest.raises(SettingsError) as error:
        kind(nn.ParameterArena(Net()), **{**more, **settings})
    assert error.value.control == field


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_moments_come_back_and_those_of_another_optimiser_are_refused(device, name: str) -> None:
    arena, _ = arena_and_twin()
    optimizer = make(name, arena)
    arena.write(arena.gradients, gradients_of(arena, 0))
    optimizer.step(1e-2)
    state = run(optimizer.read_moments())
    expected = {"adamw": 5, "sgd": 0, "lion": 0, "muon": 3}[name]
    assert (len(state["first_moment"]), len(state["second_moment"])) == (5, expected)
    again = make(name, arena_and_twin()[0])
    again.write_moments(state)
    assert {kind: bits for kind, bits in bits_of(again).items() if kind != "weights"} == {
        kind: bits for kind, bits in bits_of(optimizer).items() if kind != "weights"}
    other = make("muon" if name == "adamw" else "adamw", arena_and_twin()[0])
    with pytest.raises(CheckpointError, match="second moment of this checkpoint is not one of"):
        other.write_moments(state)
