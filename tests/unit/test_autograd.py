"""The backward engine on graphs where sharing and accumulating go wrong easily."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tabgrad import nn, ops
from tabgrad.autograd import no_grad, topological_order
from tabgrad.errors import ShapeError
from tabgrad.tensor import Tensor
from tests.helpers import opened, run
from tests.unit.check_op import assert_close

pytestmark = pytest.mark.usefixtures("device")
SHAPE = (3, 5)


def values(seed: int, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def compare(graph: Callable, *arrays: np.ndarray, passes: int = 1) -> list[Tensor]:
    """Runs `graph(*leaves)` on both sides; the gradients of all leaves must agree."""
    ours = [Tensor.from_numpy(array, requires_grad=True) for array in arrays]
    theirs = [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in arrays]
    for _ in range(passes):
        graph(*ours).sum().backward()
        graph(*theirs).sum().backward()
    for i, (mine, oracle) in enumerate(zip(ours, theirs, strict=True)):
        if oracle.grad is None:
            assert mine.grad is None
        else:
            assert_close(mine.grad.numpy(), oracle.grad.numpy(), 1e-5, f"leaf {i}")
    return ours


def square(x):
    return x * x


GRAPHS = {
    "a + a": lambda a, b: a + a,
    "a - a": lambda a, b: (a - a) * b,
    "a * a": lambda a, b: a * a,
    "diamond": lambda a, b: square(a) * b + square(a),
    "shared sum used again": lambda a, b: (a + b) * a + (a + b) * b,
    "both of a sum used again": lambda a, b: (a + b) + square(a) + square(b),
    "sum of sums": lambda a, b: (a + b) + (a + b) + (b + a),
    "output used by everyone": lambda a, b: chain(a + b),
    "leaf passed on and multiplied": lambda a, b: a + a * b + a + b * b * a,
    "one leaf unused": lambda a, b: a + square(a),
}


def chain(x):
    y = x + x
    z = y + x
    return z * y + x + y


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("passes", [1, 2])
def test_graph(name: str, passes: int) -> None:
    compare(GRAPHS[name], values(0), values(1), passes=passes)


def test_residual_stream() -> None:
    def graph(x, w):
        for _ in range(4):
            x = x + x @ w
        return x * x
    compare(graph, values(0, (4, 8)), 0.3 * values(1, (8, 8)))


def test_reshaped_views_share_one_gradient() -> None:
    def graph(a, b):
        flat = a.reshape(15)
        again = flat.reshape(5, 3).reshape(3, 5)
        return again * b + a + flat.reshape(3, 5)
    compare(graph, values(0), values(1))


def test_leaves_never_share_the_bytes_of_their_gradients() -> None:
    """After a + b both gradients are the same numbers, but a later pass adds to each alone."""
    a, b = compare(lambda a, b: a + b, values(0), values(1))
    assert a.grad.region.storage is not b.grad.region.storage
    (a * 3.0).sum().backward()
    assert np.array_equal(a.grad.numpy(), np.full(SHAPE, 4, np.float32))
    assert np.array_equal(b.grad.numpy(), np.full(SHAPE, 1, np.float32))


def test_the_given_gradient_is_not_written() -> None:
    x = Tensor.from_numpy(values(0), requires_grad=True)
    gradient = Tensor.from_numpy(values(1))
    (x + x).backward(gradient)
    assert np.array_equal(gradient.numpy(), values(1))
    assert np.array_equal(x.grad.numpy(), 2 * values(1))


def test_own_gradient_as_the_given_one() -> None:
    x = Tensor.from_numpy(values(0), requires_grad=True)
    x.backward(Tensor.from_numpy(values(1)))
    x.backward(x.grad)
    assert np.array_equal(x.grad.numpy(), 2 * values(1))


def test_scalar_loss_that_is_a_sum() -> None:
    """The seed 1.0 is shared by both; neither may write to it."""
    for _ in range(2):
        a = Tensor.from_numpy(np.float32(2), requires_grad=True)
        b = Tensor.from_numpy(np.float32(3), requires_grad=True)
        (a + b + a * b).backward()
        assert a.grad.numpy() == 4
        assert b.grad.numpy() == 3


def test_backward_twice_through_one_graph() -> None:
    x = Tensor.from_numpy(values(0), requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    loss.backward()
    assert_close(x.grad.numpy(), 4 * values(0), 1e-6, "two passes")


def test_inputs_without_gradient() -> None:
    x = Tensor.from_numpy(values(0), requires_grad=True)
    constant = Tensor.from_numpy(values(1))
    (x * constant + constant).sum().backward()
    assert constant.grad is None
    assert_close(x.grad.numpy(), values(1), 1e-6, "x")
    assert (constant + constant).record is None


def test_no_grad_and_detach() -> None:
    x = Tensor.from_numpy(values(0), requires_grad=True)
    with no_grad():
        y = x * x
    assert y.record is None and not y.requires_grad
    ((x * x).detach() * x).sum().backward()
    assert_close(x.grad.numpy(), values(0)**2, 1e-5, "detached factor is a constant")


class Tied(nn.Module):
    def __init__(self) -> None:
        self.table = nn.Parameter(values(3, (6, 64)), decay=True)
        self.first = nn.Parameter(values(4, (2, 64)), decay=True)
        self.second = nn.Parameter(values(5, (3, 64)), decay=True)
        self.bias_1 = nn.Parameter(values(6, (2,)), decay=False)
        self.bias_2 = nn.Parameter(values(7, (3,)), decay=False)
        self.weight = nn.Joined([self.first, self.second])
        self.bias = nn.Joined([self.bias_1, self.bias_2])


def test_tied_parameter_in_the_arena() -> None:
    module = Tied()
    arena = nn.ParameterArena(module)
    ids = np.array([1, 4, 4, 0], np.uint32)

    def loss(embedding, table):
        return square(embedding @ table.T).sum()

    loss(ops.embedding(Tensor.from_numpy(ids), module.table), module.table).backward()
    oracle = torch.tensor(values(3, (6, 64)), dtype=torch.float64, requires_grad=True)
    loss(oracle[ids.astype(np.int64)], oracle).backward()
    assert_close(module.table.grad.numpy(), oracle.grad.numpy(), 1e-5, "tied")
    assert_close(run(arena.read(arena.gradients))["table"], oracle.grad.numpy(), 1e-5, "arena")


def test_joined_parameters_are_one_leaf_with_their_gradients() -> None:
    module = Tied()
    arena = nn.ParameterArena(module)
    x = values(8, (4, 64))
    y = ops.linear(Tensor.from_numpy(x), module.weight.tensor, module.bias.tensor)
    weight = np.concatenate([values(4, (2, 64)), values(5, (3, 64))])
    bias = np.concatenate([values(6, (2,)), values(7, (3,))])
    assert_close(y.numpy(), x.astype(np.float64) @ weight.T + bias, 1e-5, "forward")
    y.sum().backward()
    gradients = run(arena.read(arena.gradients))
    for name in ("first", "second"):
        expected = np.broadcast_to(x.sum(0, dtype=np.float64), gradients[name].shape)
        assert_close(gradients[name], expected, 1e-5, name)
    for name in ("bias_1", "bias_2"):
        assert np.array_equal(gradients[name], np.full(gradients[name].shape, 4, np.float32))


def test_joined_parameters_without_an_arena_say_so() -> None:
    with pytest.raises(ShapeError, match="ParameterArena"):
        _ = Tied().weight.tensor


def test_first_rows_of_a_parameter() -> None:
    module = Tied()
    arena = nn.ParameterArena(module)
    x = Tensor.from_numpy(values(9, (2, 4, 64)))
    ((x + module.table.first_rows(4)) * x).sum().backward()
    expected = np.zeros((6, 64))
    expected[:4] = values(9, (2, 4, 64)).sum(0, dtype=np.float64)
    assert_close(run(arena.read(arena.gradients))["table"], expected, 1e-5, "first rows")
    with pytest.raises(ShapeError, match="too few rows"):
        module.table.first_rows(7)


def test_records_come_after_the_records_of_their_inputs() -> None:
    x = Tensor.from_numpy(values(0), requires_grad=True)
    loss = chain(x).sum()
    done: set[int] = set()
    for record in topological_order(loss):
        assert all(t.record is None or id(t.record) in done for t in record.inputs)
        done.add(id(record))
    assert id(loss.record) in done


def test_a_graph_dies_with_its_loss() -> None:
    """No reference cycle: buffers come back without waiting for the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        x = Tensor.from_numpy(values(0), requires_grad=True)
        middle = x * x
        watch = weakref.ref(middle.region.storage)
        loss = (middle + x).sum()
        loss.backward()
        run(opened("webgpu").flush())
        del middle, loss
        assert watch() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: x.backward(), "starts from one number"),
    (lambda x: Tensor.from_numpy(values(0)).sum().backward(), "nothing to differentiate"),
    (lambda x: x.backward(Tensor.from_numpy(values(0, (5, 3)))), "does not fit"),
    (lambda x: Tensor.from_numpy(np.arange(3), requires_grad=True), "Only float32"),
    (lambda x: Tensor.from_numpy(np.zeros((0, 3))), "at least one element"),
    (lambda x: Tensor.from_numpy(np.array([2**40])), "32 bits"),
    (lambda x: Tensor.from_numpy(np.array(["a"])), "cannot become a Tensor"),
])
def test_clear_refusals(call: Callable, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        call(Tensor.from_numpy(values(0), requires_grad=True))


steps = st.lists(st.tuples(st.sampled_from(["add", "sub", "mul", "tanh", "scale", "view",
                                            "add", "add"]),
                           st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=12)


def apply(kind: str, x, y):
    if kind == "add":
        return x + y
    if kind == "sub":
        return x - y
    if kind == "mul":
        return x * y
    if kind == "scale":
        return x * 0.5
    if kind == "view":
        return x.reshape(15).reshape(3, 5)
    return torch.tanh(x) if isinstance(x, torch.Tensor) else ops.tanh(x)


@given(steps, st.sets(st.integers(0, 2), min_size=1))
@settings(max_examples=60)
def test_random_graphs(program: list[tuple[str, int, int]], differentiated: set[int]) -> None:
    """Any small graph, any set of leaves with gradients, equals PyTorch."""
    opened("webgpu")
    arrays = [values(i) for i in range(3)]
    ours = [Tensor.from_numpy(a, requires_grad=i in differentiated) for i, a in enumerate(arrays)]
    theirs = [torch.tensor(a, dtype=torch.float64, requires_grad=i in differentiated)
              for i, a in enumerate(arrays)]
    for nodes in (ours, theirs):
        for kind, i, j in program:
            # One factor of a product is a leaf, so that numbers stay in float32's range.
            x = nodes[i % 3 if kind == "mul" else i % len(nodes)]
            nodes.append(apply(kind, x, nodes[j % len(nodes)]))
    if not theirs[-1].requires_grad:
        assert not ours[-1].requires_grad
        return
    (ours[-1] + ours[len(ours) // 2]).sum().backward()
    (theirs[-1] + theirs[len(theirs) // 2]).sum().backward()
    for i in range(3):
        oracle = theirs[i].grad
        assert (ours[i].grad is None) == (oracle is None)
        if oracle is not None:
            assert np.allclose(ours[i].grad.numpy(), oracle.numpy(), rtol=1e-4,
                               atol=1e-5 * max(1.0, float(oracle.abs().max())))
