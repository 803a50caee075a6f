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


def torch_gated(gate_up: torch.Tensor, activation: str) -> torch.Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    functional = torch.nn.functional
    return up * (functional.silu(gate) if activation == "silu" else
                 functional.gelu(gate, approximate="tanh"))


@pytest.mark.parametrize("activation", ["silu", "gelu"])
@pytest.mark.parametrize("shape", [(2,), (1, 2), (7, 26), (2, 3, 2 * 129), (31, 2 * 67),
                                   (16, 256)])
def test_gated(shape: tuple[int, ...], activation: str) -> None:
    check_op(ops.gated, torch_gated, x(*shape), activation=activation)


VECTORS = [(), (1,), (7,), (2, 3, 129), (1031,)]


@pytest.mark.parametrize("shape", VECTORS)
def test_silu(shape: tuple[int, ...]) -> None:
    check_op(ops.silu, torch.nn.functional.silu, x(*shape))


@pytest.mark.parametrize("shape", VECTORS)
def test_sigmoid_gate(shape: tuple[int, ...]) -> None:
    check_op(ops.sigmoid_gate, lambda a, gate: a * torch.sigmoid(gate), x(*shape),
             x(*shape, seed=1))


def test_sigmoid_gate_of_itself() -> None:
    check_op(lambda a: ops.sigmoid_gate(a, a), torch.nn.functional.silu, x(1031))


@pytest.mark.parametrize("cap", [0.75, 30.0])
@pytest.mark.parametrize("shape", VECTORS)
def test_softcap(shape: tuple[int, ...], cap: float) -> None:
    check_op(ops.softcap, lambda a, cap: cap * torch.tanh(a / cap), x(*shape, scale=0.5 * cap),
             cap=cap)


FAR = np.array([-3e38, -1e4, -90.0, -88.0, 88.0, 90.0, 1e4, 3e38], np.float32)


@pytest.mark.parametrize(("op", "oracle"), [
    (ops.silu, torch.nn.functional.silu),
    (lambda a: ops.softcap(a, 30.0), lambda a: 30 * torch.tanh(a / 30)),
    (lambda a: ops.sigmoid_gate(leaf(8), a), lambda a: torch.tensor(x(8)) * torch.sigmoid(a)),
])
def test_far_out_nothing_overflows(op: Callable[[Tensor], Tensor],
                                   oracle: Callable[[torch.Tensor], torch.Tensor]) -> None:
    a = Tensor.from_numpy(FAR, requires_grad=True)
    out = op(a)
    out.sum().backward()
    twin = torch.tensor(FAR.astype(np.float64), requires_grad=True)
    expected = oracle(twin)
    expected.sum().backward()
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-30)
    np.testing.assert_allclose(a.grad.numpy(), twin.grad.numpy(), rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("call", [
    lambda: ops.rmsnorm(leaf(2, 5), leaf(4)),
    lambda: ops.rmsnorm(leaf(2, 5), leaf(1, 5)),
    lambda: ops.gated(leaf(2, 5), "silu"),
    lambda: ops.gated(leaf(2, 6), "relu"),
    lambda: ops.sigmoid_gate(leaf(2, 5), leaf(5)),
    lambda: ops.softcap(leaf(5), 0.0),
])
def test_shapes_that_do_not_fit(call: Callable[[], Tensor]) -> None:
    with pytest.raises(ShapeError) as error:
        call()
    assert error.value.received is not None
