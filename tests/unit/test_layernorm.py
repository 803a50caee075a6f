"""Layer normalisation, forward and backward, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tabgrad import ops
from tabgrad.errors import ShapeError
from tabgrad.tensor import Tensor
from tests.helpers import opened
from tests.unit.check_op import assert_close, check_op


@pytest.fixture(params=["webgpu", "numpy"], autouse=True)
def each_device(request: pytest.FixtureRequest) -> None:
    opened(request.param)


def torch_layernorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor,
                    eps: float = 1e-5) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


def inputs(*shape: int) -> list[np.ndarray]:
    rng = np.random.default_rng(shape[-1])
    return [rng.standard_normal(one).astype(np.float32) for one in (shape, shape[-1:], shape[-1:])]


@pytest.mark.parametrize("shape", [(1, 2), (7, 129), (67, 31), (2, 3, 5), (4, 64, 128), (13,),
                                   (301, 70)])
def test_layernorm(shape: tuple[int, ...]) -> None:
    # A row of two numbers is nearly a step function: its finite difference needs a larger eps.
    check_op(ops.layernorm, torch_layernorm, *inputs(*shape), eps=1.0 if shape[-1] == 2 else 1e-5)


def test_one_channel_has_no_gradient_but_the_shift() -> None:
    x, weight, bias = (Tensor.from_numpy(array, requires_grad=True) for array in inputs(5, 1))
    y = ops.layernorm(x, weight, bias)
    y.sum().backward()
    np.testing.assert_array_equal(y.numpy(), np.broadcast_to(bias.numpy(), (5, 1)))
    assert not x.grad.numpy().any()
    assert not weight.grad.numpy().any()
    assert bias.grad.numpy().tolist() == [5.0]


def test_a_large_mean_does_not_cancel() -> None:
    x, weight, bias = inputs(9, 64)
    x += 100.0
    expected = torch_layernorm(*(torch.tensor(a, dtype=torch.float64) for a in (x, weight, bias)))
    received = ops.layernorm(*(Tensor.from_numpy(a) for a in (x, weight, bias))).numpy()
    assert_close(received, expected.numpy(), 3e-5, "forward")


def test_gain_and_shift_may_differ_in_what_they_have_so_far() -> None:
    arrays = inputs(11, 6)
    x = Tensor.from_numpy(arrays[0])
    weight, bias = (Tensor.from_numpy(array, requires_grad=True) for array in arrays[1:])
    ops.mul(weight, weight).sum().backward()
    before = weight.grad.numpy()
    ops.layernorm(x, weight, bias).sum().backward()
    fresh = Tensor.from_numpy(arrays[1], requires_grad=True)
    ops.layernorm(x, fresh, bias.detach()).sum().backward()
    assert_close(weight.grad.numpy(), before + fresh.grad.numpy(), 1e-6, "gain")
    assert_close(bias.grad.numpy(), np.full(6, 11.0), 1e-6, "shift")


def test_gain_of_another_length() -> None:
    x, _, bias = (Tensor.from_numpy(array) for array in inputs(2, 5))
    with pytest.raises(ShapeError, match="layernorm"):
        ops.layernorm(x, Tensor.from_numpy(np.ones(4, np.float32)), bias)
