"""Ops, forward and backward, against PyTorch in float64 and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from tabgrad import ops
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import Device
from tabgrad.tensor import Tensor
from tests.unit.check_op import check_op

SHAPES = [(1,), (7, 13), (2, 3, 257)]


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def away_from_zero(*shape: int) -> np.ndarray:
    """For the rectifier: finite differences must not step over its corner."""
    x = random(*shape)
    return (x + 0.1 * np.sign(x)).astype(np.float32)


def torch_linear(x: torch.Tensor, weight: torch.Tensor, *rest: torch.Tensor,
                 activation: str | None = None, has_bias: bool = True) -> torch.Tensor:
    y = x @ weight.T
    rest_list = list(rest)
    if has_bias:
        y = y + rest_list.pop(0)
    if activation is not None:
        y = {"gelu": lambda t: functional.gelu(t, approximate="tanh"), "relu": torch.relu,
             "tanh": torch.tanh}[activation](y)
    return y + rest_list[0] if rest_list else y


def our_linear(x: Tensor, weight: Tensor, *rest: Tensor, activation: str | None = None,
               has_bias: bool = True) -> Tensor:
    rest_list = list(rest)
    bias = rest_list.pop(0) if has_bias else None
    return ops.linear(x, weight, bias, activation=activation,
                      residual=rest_list[0] if rest_list else None)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["gelu", "relu", "tanh"])
def test_activations(device: Device, name: str, shape: tuple[int, ...]) -> None:
    theirs = {"gelu": lambda x: functional.gelu(x, approximate="tanh"), "relu": torch.relu,
              "tanh": torch.tanh}[name]
    check_op(getattr(ops, name), theirs, away_from_zero(*shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_pointwise(device: Device, shape: tuple[int, ...]) -> None:
    a, b = random(*shape), random(*shape, seed=1)
    check_op(ops.add, torch.add, a, b)
    check_op(ops.sub, torch.sub, a, b)
    check_op(ops.mul, torch.mul, a, b)
    check_op(lambda x: ops.scale(x, -1.7), lambda x: x * -1.7, a)


@pytest.mark.parametrize("suffix", [(13,), (3, 13), (2, 3, 13)])
def test_second_operand_may_be_the_last_axes(device: Device, suffix: tuple[int, ...]) -> None:
    check_op(ops.add, torch.add, random(2, 3, 13), random(*suffix))
    check_op(ops.sub, torch.sub, random(2, 3, 13), random(*suffix))


@pytest.mark.parametrize("shape", [(1,), (4097,), (3, 5, 1009)])
def test_sums(device: Device, shape: tuple[int, ...]) -> None:
    # Positive numbers: a sum near zero has no relative error to speak of.
    x = np.abs(random(*shape))
    check_op(ops.sum, torch.sum, x)
    check_op(ops.mean, torch.mean, x)


def test_sum_over_more_than_one_level(device: Device) -> None:
    x = np.abs(random(4096 * 4097))
    total = ops.sum(Tensor.from_numpy(x)).numpy()
    assert abs(total - x.astype(np.float64).sum()) < 1e-6 * total


@pytest.mark.parametrize("shape", [(1, 1), (7, 13), (64, 33)])
def test_transpose_and_reshape(device: Device, shape: tuple[int, int]) -> None:
    check_op(ops.transpose, lambda x: x.T, random(*shape))
    check_op(lambda x: ops.reshape(x, (-1, 1)), lambda x: x.reshape(-1, 1), random(*shape))


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (1, 4, 4), (7, 11, 13), (8, 12, 20),
                                           (33, 64, 17), (1, 64, 31), (67, 4, 3)])
def test_matmul(device: Device, m: int, k: int, n: int) -> None:
    check_op(ops.matmul, torch.matmul, random(m, k), random(k, n))


@pytest.mark.parametrize("activation", [None, "gelu", "relu", "tanh"])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("rows", "k", "n"), [((1,), 8, 3), ((5,), 7, 13), ((2, 9), 12, 20)])
def test_linear(device: Device, rows: tuple[int, ...], k: int, n: int, bias: bool,
                residual: bool, activation: str | None) -> None:
    arrays = [random(*rows, k), random(n, k)]
    arrays += [random(n)] if bias else []
    arrays += [random(*rows, n)] if residual else []
    check_op(our_linear, torch_linear, *arrays, activation=activation, has_bias=bias,
             finite_tolerance=3e-2)


def test_one_tensor_at_two_places(device: Device) -> None:
    check_op(lambda x: ops.mul(x, x), lambda x: x * x, random(37))
    check_op(lambda x: ops.matmul(x, x), lambda x: x @ x, random(12, 12))
    check_op(lambda x: ops.add(x, ops.sub(x, x)), lambda x: x + (x - x), random(37))


@pytest.mark.parametrize(("call", "words"), [
    (lambda: ops.add(ones(2, 3), ones(2)), "(2, 3)"),
    (lambda: ops.mul(ones(2, 3), ones(3)), "(3,)"),
    (lambda: ops.matmul(ones(2, 3), ones(2, 3)), "inner axes"),
    (lambda: ops.matmul(ones(2, 3, 4), ones(4, 2)), "reshape"),
    (lambda: ops.linear(ones(2, 3), ones(4, 2)), "(4, 2)"),
    (lambda: ops.linear(ones(2, 3), ones(4, 3), ones(3)), "bias"),
    (lambda: ops.linear(ones(2, 3), ones(4, 3), activation="swish"), "swish"),
    (lambda: ops.linear(ones(2, 3), ones(4, 3), residual=ones(2, 3)), "residual"),
    (lambda: ops.reshape(ones(2, 3), (4, -1)), "6 elements"),
    (lambda: ops.reshape(ones(2, 3), (-1, -1)), "6 elements"),
    (lambda: ops.transpose(ones(2)), "two axes"),
    (lambda: ops.gelu(Tensor.from_numpy(np.arange(3))), "float32"),
])
def test_what_does_not_fit_says_so(device: Device, call: object, words: str) -> None:
    with pytest.raises(ShapeError) as caught:
        call()  # type: ignore[operator]
    assert words in str(caught.value)


def ones(*shape: int) -> Tensor:
    return Tensor.from_numpy(np.ones(shape, np.float32))
