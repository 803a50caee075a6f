"""Softmax cross-entropy, forward and backward, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tabgrad import ops
from tabgrad.data.source import IGNORED
from tabgrad.errors import ShapeError
from tabgrad.tensor import Tensor
from tests.helpers import opened
from tests.unit.check_op import assert_close, check_op


@pytest.fixture(params=["webgpu", "numpy"], autouse=True)
def each_device(request: pytest.FixtureRequest) -> None:
    opened(request.param)


def torch_cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten())


def inputs(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(shape[-1])
    return (rng.standard_normal(shape).astype(np.float32),
            rng.integers(0, shape[-1], shape[:-1]).astype(np.uint32))


@pytest.mark.parametrize("shape", [(1, 2), (7, 257), (67, 31), (2, 3, 5), (4, 64, 256), (3, 5003)])
def test_cross_entropy(shape: tuple[int, ...]) -> None:
    check_op(ops.cross_entropy, torch_cross_entropy, *inputs(*shape))


def test_one_class_costs_nothing() -> None:
    logits = Tensor.from_numpy(np.array([[3.0]], np.float32), requires_grad=True)
    loss = ops.cross_entropy(logits, Tensor.from_numpy(np.zeros(1, np.uint32)))
    loss.backward()
    assert loss.numpy() == 0.0
    assert logits.grad.numpy().tolist() == [[0.0]]


def test_knowing_nothing_costs_the_logarithm_of_the_classes() -> None:
    logits = Tensor.from_numpy(np.full((9, 256), 0.25, np.float32))
    loss = ops.cross_entropy(logits, Tensor.from_numpy(np.arange(9, dtype=np.uint32)))
    assert_close(loss.numpy(), np.float64(np.log(256)), 1e-6, "loss")


def test_large_logits_do_not_overflow() -> None:
    logits, targets = inputs(5, 37)
    logits = logits * 1000 + 5000
    expected = torch_cross_entropy(torch.tensor(logits, dtype=torch.float64),
                                   torch.tensor(targets.astype(np.int64)))
    received = ops.cross_entropy(Tensor.from_numpy(logits), Tensor.from_numpy(targets)).numpy()
    assert_close(received, expected.numpy(), 1e-6, "loss")


def test_one_target_for_each_row() -> None:
    logits, targets = inputs(5, 37)
    with pytest.raises(ShapeError, match="target"):
        ops.cross_entropy(Tensor.from_numpy(logits), Tensor.from_numpy(targets[:4]))


def some_ignored(targets: np.ndarray) -> np.ndarray:
    """Every third target, and a run of them, does not count."""
    flat = targets.reshape(-1).copy()
    flat[::3] = IGNORED
    flat[2:5] = IGNORED
    return flat.reshape(targets.shape)


def torch_weighted(logits: torch.Tensor, weight: torch.Tensor, *,
                   targets: np.ndarray) -> torch.Tensor:
    ids = torch.tensor(targets.astype(np.int64).reshape(-1))
    ids[ids == IGNORED] = -100
    return weight[0] * torch.nn.functional.cross_entropy(logits.flatten(0, -2), ids,
                                                         reduction="sum")


@pytest.mark.parametrize("shape", [(7, 257), (2, 34, 31), (9, 5003)])
def test_a_weighted_sum_leaves_out_what_is_ignored(shape: tuple[int, ...]) -> None:
    logits, targets = inputs(*shape)
    targets = some_ignored(targets)

    def ours(x: Tensor, weight: Tensor, *, targets: np.ndarray) -> Tensor:
        return ops.cross_entropy(x, Tensor.from_numpy(targets), weight)

    check_op(ours, torch_weighted, logits, np.array([1 / 41], np.float32), targets=targets)


def test_ignored_rows_get_no_gradient_at_all() -> None:
    logits, targets = inputs(11, 37)
    targets = some_ignored(targets)
    x = Tensor.from_numpy(logits, requires_grad=True)
    ops.cross_entropy(x, Tensor.from_numpy(targets), Tensor.from_numpy(np.ones(1, np.float32))
                      ).backward()
    assert (x.grad.numpy()[targets == IGNORED] == 0).all()
    assert (x.grad.numpy()[targets != IGNORED] != 0).all()


@pytest.mark.parametrize("shape", [(3, 14, 61), (2, 3, 50_257)])  # as long as real vocabularies
def test_the_loss_of_each_row(shape: tuple[int, ...]) -> None:
    logits, targets = inputs(*shape)
    targets = some_ignored(targets)
    ids = torch.tensor(targets.astype(np.int64).reshape(-1))
    ids[ids == IGNORED] = -100
    expected = torch.nn.functional.cross_entropy(torch.tensor(logits, dtype=torch.float64).flatten(
        0, 1), ids, reduction="none").reshape(targets.shape).numpy()
    received = ops.token_losses(Tensor.from_numpy(logits), Tensor.from_numpy(targets)).numpy()
    assert_close(received, expected, 1e-6, "losses")
    assert (received[targets == IGNORED] == 0).all()


def test_a_weight_is_one_number() -> None:
    logits, targets = (Tensor.from_numpy(array) for array in inputs(5, 37))
    with pytest.raises(ShapeError, match="weight"):
        ops.cross_entropy(logits, targets, Tensor.from_numpy(np.ones(2, np.float32)))
