"""What stands around the delta rule, against PyTorch: convolution, gates, gated normalisation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tabgrad.errors import ShapeError
from tabgrad.ops.delta_gates import delta_gates
from tabgrad.ops.gated_rmsnorm import gated_rmsnorm
from tabgrad.ops.short_convolution import short_convolution, short_convolution_cached
from tabgrad.tensor import Tensor
from tests.helpers import opened
from tests.unit.check_op import assert_close, check_op
from tests.unit.test_attention import starts_of


@pytest.fixture(params=["webgpu", "numpy"], autouse=True)
def each_device(request: pytest.FixtureRequest) -> None:
    opened(request.param)


def x(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def torch_convolution(rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    taps = weight.shape[1]
    padded = F.pad(rows.transpose(1, 2), (taps - 1, 0))
    sums = F.conv1d(padded, weight[:, None], groups=weight.shape[0])
    return F.silu(sums).transpose(1, 2)


@pytest.mark.parametrize(("B", "T", "C", "K"), [(1, 1, 1, 4), (2, 5, 7, 4), (1, 33, 40, 4),
                                                (3, 70, 5, 2), (1, 3, 4, 9), (2, 4, 3, 1)])
def test_short_convolution(B: int, T: int, C: int, K: int) -> None:
    check_op(short_convolution, torch_convolution, x(B, T, C), x(C, K, seed=1))


@pytest.mark.parametrize(("C", "K", "rows"), [
    (7, 4, [[1, 2, 3, 9, 5], [17, 1, 1, 1]]), (40, 4, [[33, 37]]), (3, 9, [[2, 12], [14]])])
def test_no_tap_reaches_another_document(C: int, K: int, rows: list[list[int]]) -> None:
    starts = starts_of(*rows)

    def each(inputs: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        apart = [torch.cat([torch_convolution(piece, weight) for piece in row[None].split(
            lengths, dim=1)], dim=1) for row, lengths in zip(inputs, rows, strict=True)]
        return torch.cat(apart)

    check_op(lambda a, w: short_convolution(a, w, starts=Tensor.from_numpy(starts)), each,
             x(*starts.shape, C), x(C, K, seed=1))


@pytest.mark.parametrize(("pieces", "padding"), [([1] * 7, 0), ([3, 2, 1, 5], 4), ([11], 1),
                                                 ([2, 0, 4, 1], 6), ([64, 1, 1], 3)])
@pytest.mark.parametrize("K", [2, 4, 6])
def test_a_convolution_in_pieces_equals_the_whole(pieces: list[int], padding: int,
                                                  K: int) -> None:
    rows, weight = x(1, sum(pieces), 5), x(5, K, seed=1)
    whole = torch_convolution(torch.tensor(rows).double(), torch.tensor(weight).double()).numpy()
    state = Tensor.from_numpy(np.zeros((K - 1, 5), np.float32))
    done = 0
    for count in pieces:
        padded = np.full((count + padding, 5), np.nan, np.float32)
        padded[:count] = rows[0, done:done + count]
        out = short_convolution_cached(
            Tensor.from_numpy(padded), Tensor.from_numpy(weight), state,
            Tensor.from_numpy(np.array([done, count], np.uint32))).numpy()
        if count:
            assert_close(out[:count], whole[0, done:done + count], 1e-5, f"rows from {done}")
        done += count
    before = np.concatenate([np.zeros((K - 1, 5), np.float32), rows[0]])
    np.testing.assert_array_equal(state.numpy(), before[len(before) - (K - 1):])


def torch_gates(a: torch.Tensor, b: torch.Tensor, A_log: torch.Tensor,
                dt_bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    softplus = torch.logaddexp(a + dt_bias, torch.zeros((), dtype=a.dtype))
    return -A_log.exp() * softplus, b.sigmoid()


@pytest.mark.parametrize("shape", [(1,), (5, 3), (2, 33, 16), (70, 1)])
def test_delta_gates(shape: tuple[int, ...]) -> None:
    heads = shape[-1]
    check_op(lambda a, A, d: delta_gates(a, a.detach(), A, d)[0],
             lambda a, A, d: torch_gates(a, a, A, d)[0],
             x(*shape), x(heads, seed=1), x(heads, seed=2))
    zeros = Tensor.from_numpy(np.zeros(heads, np.float32))
    check_op(lambda b: delta_gates(b.detach(), b, zeros, zeros)[1], torch.sigmoid, x(*shape))


def test_gates_far_out_neither_overflow_nor_vanish() -> None:
    a = np.array([[-60.0, -12.0, -6.0, 0.0, 15.0, 90.0]], np.float32)
    b = np.array([[-90.0, -30.0, 0.0, 9.0, 40.0, 100.0]], np.float32)
    zeros = np.zeros(6, np.float32)
    gates = delta_gates(*map(Tensor.from_numpy, (a, b, zeros, zeros)))
    expected = torch_gates(*(torch.tensor(v, dtype=torch.float64) for v in (a, b, zeros, zeros)))
    for ours, exact in zip(gates, expected, strict=True):
        np.testing.assert_allclose(ours.numpy(), exact.numpy(), rtol=1e-5, atol=1e-34)


def torch_gated_rmsnorm(rows: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor,
                        eps: float) -> torch.Tensor:
    normalised = rows * torch.rsqrt(rows.pow(2).mean(-1, keepdim=True) + eps)
    return weight * normalised * F.silu(gate)


@pytest.mark.parametrize("shape", [(1, 4), (5, 3, 16), (2, 7, 2, 128), (33, 5)])
def test_gated_rmsnorm(shape: tuple[int, ...]) -> None:
    check_op(gated_rmsnorm, torch_gated_rmsnorm, x(*shape), x(*shape, seed=1),
             x(shape[-1], seed=2), eps=1e-6)


def test_gate_and_rows_may_be_one_tensor() -> None:
    check_op(lambda a, w: gated_rmsnorm(a, a, w, 1e-5),
             lambda a, w: torch_gated_rmsnorm(a, a, w, 1e-5), x(3, 8), x(8, seed=1))


def test_shapes_that_do_not_fit() -> None:
    rows = Tensor.from_numpy(x(2, 3, 4))
    with pytest.raises(ShapeError, match="short_convolution"):
        short_convolution(rows, Tensor.from_numpy(x(5, 4)))
    with pytest.raises(ShapeError, match="start"):
        short_convolution(rows, Tensor.from_numpy(x(4, 4)),
                          starts=Tensor.from_numpy(np.zeros((2, 4), np.uint32)))
    with pytest.raises(ShapeError, match="state"):
        short_convolution_cached(Tensor.from_numpy(x(3, 4)), Tensor.from_numpy(x(4, 4)),
                                 Tensor.from_numpy(x(4, 4)),
                                 Tensor.from_numpy(np.zeros(2, np.uint32)))
    with pytest.raises(ShapeError, match="delta_gates"):
        delta_gates(rows, rows, Tensor.from_numpy(x(3)), Tensor.from_numpy(x(4)))
    with pytest.raises(ShapeError, match="gated_rmsnorm"):
        gated_rmsnorm(rows, Tensor.from_numpy(x(3, 4)), Tensor.from_numpy(x(4)))
