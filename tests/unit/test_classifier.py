"""A small network of our own ops learns, step for step as PyTorch does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tabgrad import nn, ops
from tabgrad.optim import AdamW
from tabgrad.tensor import Tensor
from tests.helpers import opened, run


class Classifier(nn.Module):
    def __init__(self, activation) -> None:
        init = nn.Initializer(seed=0)
        self.hidden = nn.Linear(2, 33, init=init, std=1.0)
        self.out = nn.Linear(33, 3, init=init)
        self.activation = activation

    def __call__(self, x: Tensor) -> Tensor:
        return self.out(self.activation(self.hidden(x)))


ACTIVATIONS = {
    "tanh": (ops.tanh, torch.tanh), "relu": (ops.relu, torch.relu),
    "gelu": (ops.gelu, lambda x: torch.nn.functional.gelu(x, approximate="tanh"))}


@pytest.mark.parametrize("kind", ["webgpu", "numpy"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_fifty_steps_equal_torch_and_learn(kind: str, name: str) -> None:
    opened(kind)
    ours, theirs = ACTIVATIONS[name]
    rng = np.random.default_rng(0)
    points = rng.standard_normal((97, 2)).astype(np.float32)
    labels = ((points[:, 0] > 0).astype(np.uint32) + (points[:, 1] > 0.5)).astype(np.uint32)
    model = Classifier(ours)
    arena = nn.ParameterArena(model)
    optimizer = AdamW(arena, learning_rate=0.05, weight_decay=0.01)
    state = run(arena.read(arena.weights))
    twin = torch.nn.Sequential(torch.nn.Linear(2, 33), torch.nn.Linear(33, 3))
    twin.load_state_dict({"0.weight": torch.tensor(state["hidden.weight"]),
                          "0.bias": torch.tensor(state["hidden.bias"]),
                          "1.weight": torch.tensor(state["out.weight"]),
                          "1.bias": torch.tensor(state["out.bias"])})
    oracle = torch.optim.AdamW(
        [{"params": [twin[0].weight, twin[1].weight], "weight_decay": 0.01},
         {"params": [twin[0].bias, twin[1].bias], "weight_decay": 0.0}], lr=0.05)
    x, target = Tensor.from_numpy(points), Tensor.from_numpy(labels)
    for _ in range(50):
        optimizer.zero_grad()
        loss = ops.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        oracle.zero_grad()
        logits = twin[1](theirs(twin[0](torch.tensor(points))))
        expected = torch.nn.functional.cross_entropy(logits, torch.tensor(labels.astype(np.int64)))
        expected.backward()
        oracle.step()
    assert float(loss.numpy()) == pytest.approx(expected.item(), abs=2e-4)
    predicted = model(x).numpy().argmax(axis=1)
    assert (predicted == labels).mean() > 0.9
