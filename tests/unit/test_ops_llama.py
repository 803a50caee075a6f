"""The ops of Llama-like decoders, forward and backward, against PyTorch float64."""

from __future__ import annotations

from collections.abc import Callable

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


def x(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def leaf(*shape: int) -> Tensor:
    return Tensor.from_numpy(x(*shape))


def torch_rmsnorm(a: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6,
                  offset: float = 0.0) -> torch.Tensor:
    return torch.nn.functional.rms_norm(a, a.shape[-1:], offset + weight, eps)


@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(1, 2), (7, 129), (67, 31), (2, 3, 5), (4, 64, 128), (13,),
                                   (301, 70), (5, 1)])
def test_rmsnorm(shape: tuple[int, ...], offset: float) -> None:
    # A row of one or two numbers is nearly a step: its finite difference needs a larger eps.
    check_op(ops.rmsnorm, torch_rmsnorm, x(*shape), x(shape[-1], seed=1), offset=offset,
             eps=1.0 if shape[-1] <= 2 else 1e-6)


def test_rmsnorm_of_tiny_and_huge_rows() -> None:
    a = x(4, 33) * np.array([1e-6, 1.0, 1e3, 1e8], np.float32)[:, None]
    weight = x(33, seed=1)
    expected = torch_rmsnorm(torch.tensor(a, dtype=torch.float64), torch.tensor(weight).double())
    received = ops.rmsnorm(Tensor.from_numpy(a), Tensor.from_numpy(weight)).numpy()
    for row in range(4):
        assert_close(received[row], expected.numpy()[row], 1e-5, f"row {row}")


@pytest.mark.parametrize("call", [
    lambda: ops.rmsnorm(leaf(2, 5), leaf(4)),
    lambda: ops.rmsnorm(leaf(2, 5), leaf(1, 5)),
])
def test_shapes_that_do_not_fit(call: Callable[[], Tensor]) -> None:
    with pytest.raises(ShapeError) as error:
        call()
    assert error.value.received is not None
