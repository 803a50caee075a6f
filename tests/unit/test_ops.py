"""Every op forward and backward: PyTorch float64, finite differences, repeated passes.

Sizes are 1, primes, and not multiples of any tile. A new op is one line.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tabgrad import ops
from tabgrad.errors import ShapeError
from tabgrad.tensor import Tensor
from tests.unit.check_op import check_op

pytestmark = pytest.mark.usefixtures("device")


def x(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def away_from_zero(*shape: int) -> np.ndarray:
    """Numbers that a finite difference does not carry over relu's corner."""
    values = x(*shape)
    return (values + np.where(values < 0, -0.1, 0.1)).astype(np.float32)


def ids(below: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(below).integers(0, below, shape).astype(np.uint32)


VECTORS = [(), (1,), (7,), (3, 5), (2, 3, 129), (1031,)]
ONE = {
    "relu": (ops.relu, F.relu, away_from_zero),
    "tanh": (ops.tanh, torch.tanh, x),
    "gelu": (ops.gelu, lambda a: F.gelu(a, approximate="tanh"), x),
    "sum": (ops.sum, torch.sum, x),
    "mean": (ops.mean, torch.mean, x),
    "scale": (lambda a: ops.scale(a, -2.5), lambda a: -2.5 * a, x),
    "negative": (lambda a: -a, lambda a: -a, x),
}


@pytest.mark.parametrize("shape", VECTORS)
@pytest.mark.parametrize("name", ONE)
def test_one_operand(name: str, shape: tuple[int, ...]) -> None:
    op, oracle, make = ONE[name]
    check_op(op, oracle, make(*shape))


@pytest.mark.parametrize("shape", VECTORS)
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_two_operands(name: str, shape: tuple[int, ...]) -> None:
    check_op(getattr(ops, name), getattr(torch, name), x(*shape), x(*shape, seed=1))


@pytest.mark.parametrize(("shape", "suffix"), [
    ((1, 1), (1,)), ((7, 5), (5,)), ((2, 3, 5), (3, 5)), ((17, 129), (129,)), ((3, 4), ()),
    ((300, 1), (1,)), ((1, 67), (67,))])
@pytest.mark.parametrize("name", ["add", "sub"])
def test_second_operand_repeats(name: str, shape: tuple, suffix: tuple) -> None:
    check_op(getattr(ops, name), getattr(torch, name), x(*shape), x(*suffix, seed=1))


@pytest.mark.parametrize(("rows", "inner", "columns"), [
    (1, 1, 1), (1, 7, 13), (17, 1, 5), (31, 37, 1), (33, 65, 47), (64, 64, 64), (128, 32, 257)])
def test_matmul(rows: int, inner: int, columns: int) -> None:
    check_op(ops.matmul, torch.matmul, x(rows, inner), x(inner, columns, seed=1))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 7), (13, 1), (33, 65), (128, 64)])
def test_transpose(rows: int, columns: int) -> None:
    check_op(ops.transpose, torch.t, x(rows, columns))


@pytest.mark.parametrize(("shape", "new"), [
    ((1,), (1, 1)), ((6, 5), (5, 6)), ((2, 3, 4), (6, -1)), ((7,), (1, 7))])
def test_reshape(shape: tuple, new: tuple) -> None:
    check_op(lambda a: ops.reshape(a, new), lambda a: a.reshape(new), x(*shape))


def torch_linear(a: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None,
                 residual: torch.Tensor | None = None, *, activation: str | None = None,
                 ) -> torch.Tensor:
    y = F.linear(a, weight, bias)
    if activation is not None:
        y = {"gelu": lambda v: F.gelu(v, approximate="tanh"), "relu": F.relu,
             "tanh": torch.tanh}[activation](y)
    return y if residual is None else y + residual


SIZES = [((1,), 1, 1), ((1,), 4, 8), ((5,), 7, 3), ((2, 3), 13, 17), ((33,), 64, 65),
         ((2, 17), 128, 36), ((64,), 32, 128)]


@pytest.mark.parametrize(("rows", "inner", "outer"), SIZES)
@pytest.mark.parametrize("activation", [None, "gelu", "tanh"])
@pytest.mark.parametrize("bias", [False, True])
def test_linear(rows: tuple, inner: int, outer: int, activation: str | None, bias: bool) -> None:
    arrays = [x(*rows, inner), x(outer, inner, seed=1, scale=inner**-0.5), x(outer, seed=2)]
    check_op(ops.linear, torch_linear, *arrays[:3 if bias else 2], activation=activation)


@pytest.mark.parametrize(("rows", "inner", "outer"), SIZES)
def test_linear_with_residual(rows: tuple, inner: int, outer: int) -> None:
    arrays = [x(*rows, inner), x(outer, inner, seed=1, scale=inner**-0.5), x(outer, seed=2),
              x(*rows, outer, seed=3)]
    check_op(lambda a, w, b, r: ops.linear(a, w, b, residual=r), torch_linear, *arrays)


def test_linear_whose_residual_is_its_input() -> None:
    check_op(lambda a, w, b: ops.linear(a, w, b, residual=a),
             lambda a, w, b: F.linear(a, w, b) + a, x(5, 16), x(16, 16, seed=1), x(16, seed=2))


@pytest.mark.parametrize(("shape", "eps"), [
    # With a small eps two numbers normalise to +-1 whatever they are, and the gradient vanishes.
    ((1, 2), 0.5), ((3, 2), 0.5), ((5, 3), 1e-5), ((7, 129), 1e-5), ((2, 3, 64), 1e-5),
    ((65, 31), 1e-5)])
def test_layernorm(shape: tuple, eps: float) -> None:
    width = shape[-1]
    check_op(lambda a, w, b: ops.layernorm(a, w, b, eps),
             lambda a, w, b: F.layer_norm(a, (width,), w, b, eps),
             x(*shape), 1 + x(width, seed=1, scale=0.5), x(width, seed=2))


def torch_attention(qkv: torch.Tensor, heads: int, kv_heads: int) -> torch.Tensor:
    B, T, packed = qkv.shape
    D = packed // (heads + 2 * kv_heads)
    q, k, v = qkv.split([heads * D, kv_heads * D, kv_heads * D], dim=-1)
    q = q.view(B, T, heads, D).transpose(1, 2)
    k = k.view(B, T, kv_heads, D).transpose(1, 2).repeat_interleave(heads // kv_heads, dim=1)
    v = v.view(B, T, kv_heads, D).transpose(1, 2).repeat_interleave(heads // kv_heads, dim=1)
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return mixed.transpose(1, 2).reshape(B, T, heads * D)


@pytest.mark.parametrize(("B", "T", "H", "Hk", "D"), [
    (1, 1, 1, 1, 4), (1, 2, 1, 1, 8), (2, 7, 2, 2, 16), (1, 67, 4, 4, 32), (2, 33, 4, 2, 8),
    (1, 13, 6, 1, 12), (1, 130, 2, 2, 64)])
def test_attention(B: int, T: int, H: int, Hk: int, D: int) -> None:
    check_op(lambda qkv: ops.attention(qkv, H, Hk), lambda qkv: torch_attention(qkv, H, Hk),
             x(B, T, (H + 2 * Hk) * D), tolerance=5e-5)


@pytest.mark.parametrize(("shape", "rows", "width"), [
    ((1,), 1, 1), ((7,), 5, 3), ((2, 3), 11, 129), ((4, 33), 7, 16), ((1, 1), 257, 64)])
def test_embedding(shape: tuple, rows: int, width: int) -> None:
    tokens = ids(rows, *shape)
    check_op(lambda table: ops.embedding(Tensor.from_numpy(tokens), table),
             lambda table: F.embedding(torch.tensor(tokens.astype(np.int64)), table),
             x(rows, width))


@pytest.mark.parametrize(("shape", "classes"), [
    ((1,), 2), ((7,), 3), ((2, 5), 257), ((33,), 256), ((3, 67), 129)])
def test_cross_entropy(shape: tuple, classes: int) -> None:
    targets = ids(classes, *shape)
    check_op(lambda logits: ops.cross_entropy(logits, Tensor.from_numpy(targets)),
             lambda logits: F.cross_entropy(logits.reshape(-1, classes),
                                            torch.tensor(targets.astype(np.int64)).reshape(-1)),
             x(*shape, classes, scale=3.0))


def test_cross_entropy_of_huge_logits() -> None:
    logits = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]], np.float32)
    loss = ops.cross_entropy(Tensor.from_numpy(logits), Tensor.from_numpy(ids(1, 2)))
    # A log-sum-exp near 1e4 is a float32 with a grain of 1e-3.
    assert float(loss.numpy()) == pytest.approx(np.log(3) / 2, abs=1e-3)


def leaf(*shape: int) -> Tensor:
    return Tensor.from_numpy(x(*shape))


@pytest.mark.parametrize("call", [
    lambda: leaf(2, 3) + leaf(2), lambda: leaf(3) + leaf(2, 3), lambda: leaf(2, 3) * leaf(3, 2),
    lambda: leaf(2, 3) @ leaf(2, 3), lambda: leaf(2, 3, 4) @ leaf(4, 5), lambda: leaf(2, 3, 4).T,
    lambda: leaf(6).reshape(4), lambda: leaf(6).reshape(-1, -1),
    lambda: ops.linear(leaf(2, 3), leaf(4, 5)), lambda: ops.linear(leaf(2, 3), leaf(4, 3), leaf(3)),
    lambda: ops.linear(leaf(2, 3), leaf(4, 3), leaf(4), residual=leaf(2, 3)),
    lambda: ops.linear(leaf(2, 3), leaf(4, 3), leaf(4), activation="swish"),
    lambda: ops.layernorm(leaf(2, 3), leaf(2), leaf(3), 1e-5),
    lambda: ops.attention(leaf(1, 2, 25), 2, 2), lambda: ops.attention(leaf(1, 2, 24), 3, 2),
    lambda: ops.embedding(leaf(3), leaf(5, 4)),
    lambda: ops.cross_entropy(leaf(2, 3), Tensor.from_numpy(ids(3, 3))),
    lambda: Tensor.from_numpy(ids(3, 4)) + Tensor.from_numpy(ids(3, 4)),
])
def test_shapes_that_do_not_fit(call: Callable[[], Tensor]) -> None:
    with pytest.raises(ShapeError) as error:
        call()
    assert error.value.received is not None
