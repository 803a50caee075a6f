"""The embedding, forward and backward, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tabgrad import ops
from tabgrad.errors import ShapeError
from tabgrad.tensor import Tensor
from tests.helpers import opened
from tests.unit.check_op import check_op


@pytest.fixture(params=["webgpu", "numpy"], autouse=True)
def each_device(request: pytest.FixtureRequest) -> None:
    opened(request.param)


@pytest.mark.parametrize(("ids", "V", "C"), [((1,), 1, 1), ((7,), 31, 129), ((5, 60), 257, 32),
                                             ((67,), 3, 5), ((2, 3, 4), 11, 70)])
def test_embedding(ids: tuple[int, ...], V: int, C: int) -> None:
    rng = np.random.default_rng(V)
    check_op(ops.embedding, lambda i, w: torch.nn.functional.embedding(i, w),
             rng.integers(0, V, ids).astype(np.uint32),
             rng.standard_normal((V, C)).astype(np.float32))


def test_rows_that_do_not_occur_keep_what_they_have() -> None:
    table = Tensor.from_numpy(np.ones((50_000, 4), np.float32), requires_grad=True)
    ids = Tensor.from_numpy(np.array([49_999, 7, 49_999], np.uint32))
    for passes in (1, 2):
        ops.embedding(ids, table).sum().backward()
        gradient = table.grad.numpy()
        assert gradient[49_999].tolist() == [2.0 * passes] * 4
        assert gradient[7].tolist() == [1.0 * passes] * 4
        assert gradient.sum() == 12.0 * passes


def test_a_gradient_has_the_same_bits_every_time() -> None:
    rng = np.random.default_rng(0)
    ids = Tensor.from_numpy(rng.integers(0, 5, 500).astype(np.uint32))
    weights = Tensor.from_numpy(rng.standard_normal((500, 9)).astype(np.float32))
    gradients = []
    for _ in range(3):
        table = Tensor.from_numpy(np.ones((5, 9), np.float32), requires_grad=True)
        ops.mul(ops.embedding(ids, table), weights).sum().backward()
        gradients.append(table.grad.numpy())
    np.testing.assert_array_equal(gradients[0], gradients[1])
    np.testing.assert_array_equal(gradients[0], gradients[2])


def test_ids_must_be_unsigned() -> None:
    table = Tensor.from_numpy(np.ones((3, 2), np.float32))
    with pytest.raises(ShapeError, match="unsigned"):
        ops.embedding(Tensor.from_numpy(np.array([-1])), table)
