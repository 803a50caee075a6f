"""Attention, forward and backward, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tabgrad import ops
from tabgrad.errors import ShapeError
from tabgrad.tensor import Tensor
from tests.helpers import opened
from tests.unit.check_op import assert_close, check_op

# B, T, HQ, HK, D: a single number, primes, groups, and heads that fit no block.
SHAPES = [(1, 1, 1, 1, 4), (2, 37, 4, 2, 8), (1, 67, 2, 2, 64), (3, 13, 3, 1, 20),
          (2, 64, 4, 4, 32), (1, 5, 6, 2, 32), (2, 41, 2, 1, 32)]


@pytest.fixture(params=["webgpu", "numpy"], autouse=True)
def each_device(request: pytest.FixtureRequest) -> None:
    opened(request.param)


def torch_attention(qkv: torch.Tensor, query_heads: int, key_value_heads: int, *,
                    scale: float | None = None, window: int = 0,
                    starts: np.ndarray | None = None) -> torch.Tensor:
    batch, time, packed = qkv.shape
    head = packed // (query_heads + 2 * key_value_heads)
    q, k, v = (part.reshape(batch, time, -1, head).transpose(1, 2) for part in qkv.split(
        [query_heads * head, key_value_heads * head, key_value_heads * head], dim=-1))
    seen = torch.ones(time, time, dtype=torch.bool).tril()
    if window:
        seen &= ~seen.tril(-window)
    if starts is not None:  # a block for each document: queries and keys of equal starts
        begins = torch.tensor(starts.astype(np.int64))
        seen = seen & (begins[:, None, :, None] == begins[:, None, None, :])
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale,
                                                             enable_gqa=True)
    return mixed.transpose(1, 2).reshape(batch, time, -1)


def packed(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("B", "T", "HQ", "HK", "D"), SHAPES)
def test_attention(B: int, T: int, HQ: int, HK: int, D: int) -> None:
    qkv = packed(np.random.default_rng(T), B, T, (HQ + 2 * HK) * D)
    check_op(ops.attention, torch_attention, qkv, query_heads=HQ, key_value_heads=HK)


# The first windows see one position, the later ones some, all but one, and all.
@pytest.mark.parametrize(("T", "HQ", "HK", "D", "window"), [
    (9, 1, 1, 4, 1), (37, 4, 2, 32, 8), (41, 3, 1, 64, 5), (21, 2, 1, 20, 20), (18, 2, 2, 16, 18),
    (14, 2, 2, 48, 3), (11, 4, 1, 256, 4), (5, 1, 1, 128, 1000)])
def test_a_sliding_window_and_a_scale(T: int, HQ: int, HK: int, D: int, window: int) -> None:
    qkv = packed(np.random.default_rng(T), 2, T, (HQ + 2 * HK) * D)
    check_op(ops.attention, torch_attention, qkv, query_heads=HQ, key_value_heads=HK,
             scale=0.7 / D**0.5, window=window)


def starts_of(*rows: list[int]) -> np.ndarray:
    """(B, T) uint32 from the lengths of each row's documents."""
    return np.array([np.repeat(np.cumsum([0, *lengths[:-1]]), lengths) for lengths in rows],
                    np.uint32)


# One position, documents that end inside and at the end of a block of four, and padding.
@pytest.mark.parametrize(("HQ", "HK", "D", "window", "rows"), [
    (1, 1, 4, 0, [[1]]), (4, 2, 32, 0, [[4, 1, 1, 13, 18], [37], [1] * 37]),
    (2, 1, 20, 0, [[9, 1, 3], [5, 5, 3]]), (3, 1, 16, 5, [[3, 20, 18], [11, 1, 29]])])
def test_a_position_sees_only_its_own_document(HQ: int, HK: int, D: int, window: int,
                                               rows: list[list[int]]) -> None:
    starts = starts_of(*rows)
    qkv = packed(np.random.default_rng(D), *starts.shape, (HQ + 2 * HK) * D)

    def ours(x: Tensor, query_heads: int, key_value_heads: int, *, window: int,
             starts: np.ndarray) -> Tensor:
        return ops.attention(x, query_heads, key_value_heads, window=window,
                             starts=Tensor.from_numpy(starts))

    check_op(ours, torch_attention, qkv, query_heads=HQ, key_value_heads=HK, window=window,
             starts=starts)


def test_one_document_has_the_bits_of_a_whole_row() -> None:
    qkv = packed(np.random.default_rng(2), 2, 41, 5 * 16)
    results = []
    for starts in (None, Tensor.from_numpy(np.zeros((2, 41), np.uint32))):
        x = Tensor.from_numpy(qkv, requires_grad=True)
        out = ops.attention(x, 3, 1, window=5, starts=starts)
        out.backward(Tensor.from_numpy(qkv[..., :48].copy()))
        results.append((out.numpy().tobytes(), x.grad.numpy().tobytes()))
    assert results[0] == results[1]


def test_every_position_has_a_start() -> None:
    qkv = Tensor.from_numpy(np.zeros((2, 3, 12), np.float32))
    with pytest.raises(ShapeError, match="start"):
        ops.attention(qkv, 1, starts=Tensor.from_numpy(np.zeros((1, 3), np.uint32)))


@pytest.mark.parametrize("window", [-1, 2**31])
def test_a_window_that_is_none(window: int) -> None:
    with pytest.raises(ShapeError, match="window"):
        ops.attention(Tensor.from_numpy(np.zeros((1, 2, 12), np.float32)), 1, window=window)


def test_large_scores_neither_overflow_nor_vanish() -> None:
    qkv = packed(np.random.default_rng(0), 1, 19, 3 * 32)
    qkv[..., :64] *= 30  # scores of several thousand: their softmax is a choice
    expected = torch_attention(torch.tensor(qkv, dtype=torch.float64), 1, 1).numpy()
    assert_close(ops.attention(Tensor.from_numpy(qkv), 1).numpy(), expected, 1e-4, "forward")


def test_no_position_sees_a_later_one() -> None:
    qkv = packed(np.random.default_rng(1), 2, 23, 3 * 64)
    before = ops.attention(Tensor.from_numpy(qkv), 2).numpy()
    qkv[:, 11:] = 1e6
    after = ops.attention(Tensor.from_numpy(qkv), 2).numpy()
    np.testing.assert_array_equal(before[:, :11], after[:, :11])


@pytest.mark.parametrize(("shape", "heads"), [((2, 3, 3 * 6), (1, 1)), ((2, 3, 24), (3, 2)),
                                              ((3, 24), (2, 2)), ((1, 2, 25), (2, 2))])
def test_shapes_that_do_not_fit(shape: tuple[int, ...], heads: tuple[int, int]) -> None:
    with pytest.raises(ShapeError, match="attention"):
        ops.attention(Tensor.from_numpy(np.zeros(shape, np.float32)), *heads)
