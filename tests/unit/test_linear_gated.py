"""The first half of a gated MLP: one kernel for one row, and the same from its parts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tabgrad import ops
from tabgrad.autograd import no_grad
from tabgrad.tensor import Tensor
from tests.unit.check_op import assert_close, check_op

pytestmark = pytest.mark.usefixtures("device")
ACTIVATIONS = {"silu": F.silu, "gelu": lambda x: F.gelu(x, approximate="tanh")}


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def oracle(x: torch.Tensor, weight: torch.Tensor, activation: str) -> torch.Tensor:
    gate, up = (x @ weight.T).chunk(2, dim=-1)
    return ACTIVATIONS[activation](gate) * up


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("rows", "inner", "width"), [(1, 4, 4), (1, 100, 72), (7, 13, 20)])
def test_forward_and_backward(rows: int, inner: int, width: int, activation: str) -> None:
    check_op(lambda x, weight: ops.linear_gated(x, weight, activation=activation),
             lambda x, weight: oracle(x, weight, activation), draw(rows, width),
             0.3 * draw(2 * inner, width))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("inner", [4, 76, 1536])
def test_one_row_takes_one_launch(device, dtype: str, inner: int) -> None:
    x, weight = draw(1, 1, 576), 0.05 * draw(2 * inner, 576)
    stored = Tensor.stored(weight, dtype)
    with device.recording() as recording, no_grad():
        ops.linear_gated(Tensor.from_numpy(x), stored)
    assert len(list(recording.tape.programs())) == 1
    recording.tape.let_go()
    with no_grad():
        found = ops.linear_gated(Tensor.from_numpy(x), stored).numpy()
    rounded = torch.tensor(weight).to(getattr(torch, dtype)).double()
    assert_close(found, oracle(torch.tensor(x).double(), rounded, "silu").numpy(), 2e-5, "result")
