"""Weights in 16 bits: rounding, linear and embedding against PyTorch, ranges, places."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tabgrad import nn, ops
from tabgrad.errors import KernelError, ShapeError
from tabgrad.gpu.device import Device, current_device
from tabgrad.gpu.kernels import load_kernel
from tabgrad.nn.parameter import leaf_view
from tabgrad.reference.stored import byte_count, pack, rounded, unpack
from tabgrad.tensor import Tensor, item_bytes
from tests.helpers import opened, run
from tests.unit.check_op import assert_close

HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


@pytest.fixture(params=["webgpu", "numpy"])
def each_device(request: pytest.FixtureRequest) -> Device:
    return opened(request.param)


def values(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def through_torch(array: np.ndarray, dtype: str) -> torch.Tensor:
    """Rounded by PyTorch, in float64."""
    return torch.tensor(array).to(HALVES[dtype]).double()


# Formats


HARD = np.array([0.0, -0.0, 1.0, -1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11, 65504,
                 65519.99, 65520, 1e38, 3.4e38, 1e-40, 6e-8, 2.9e-8, 3e-8, np.inf, -np.inf],
                np.float32)


@pytest.mark.parametrize("dtype", HALVES)
def test_rounding_is_pytorchs_bit_for_bit(dtype: str) -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint32)
    array = np.concatenate([HARD, bits.view(np.float32)])
    array = array[~np.isnan(array)]
    expected = torch.tensor(array).to(HALVES[dtype])
    assert pack(array, dtype)[:2 * array.size] == expected.view(torch.int16).numpy().tobytes()
    np.testing.assert_array_equal(rounded(array, dtype), expected.float().numpy())


@pytest.mark.parametrize("dtype", HALVES)
def test_what_is_no_number_stays_none(dtype: str) -> None:
    bits = np.array([0x7FC00000, 0x7F800001, 0xFFFFFFFF, 0x7FFFFFFF], np.uint32)
    assert np.isnan(rounded(bits.view(np.float32), dtype)).all()


def test_an_odd_count_ends_with_an_unused_half() -> None:
    assert byte_count(5, "bfloat16") == 12
    data = pack(values(5), "bfloat16")
    assert len(data) == 12
    assert data[10:] == b"\0\0"
    assert unpack(data, "bfloat16").size == 6
    assert unpack(data, "bfloat16", 5).size == 5


# Tensors


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("shape", [(1,), (3, 5), (4, 8)])
def test_a_tensor_keeps_the_rounded_numbers(each_device: Device, dtype: str,
                                            shape: tuple[int, ...]) -> None:
    tensor = Tensor.stored(values(*shape), dtype)
    assert (tensor.dtype, tensor.shape) == (dtype, shape)
    assert tensor.region.size == byte_count(tensor.size, dtype)
    assert item_bytes(dtype) == 2
    received = tensor.numpy()
    assert received.dtype == np.float32
    np.testing.assert_array_equal(received, through_torch(values(*shape), dtype).numpy())


def test_weights_in_16_bits_have_no_gradient(device: Device) -> None:
    tensor = Tensor.stored(values(4, 4), "bfloat16")
    with pytest.raises(ShapeError, match="Only float32 tensors have gradients"):
        Tensor((4, 4), "bfloat16", tensor.region, requires_grad=True)
    tensor.requires_grad = True
    for call in (lambda: ops.linear(Tensor.from_numpy(values(1, 4)), tensor),
                 lambda: ops.embedding(Tensor.from_numpy(np.zeros(1, np.uint32)), tensor)):
        with pytest.raises(ShapeError, match="get no gradient"):
            call()


def test_other_ops_refuse_16_bits(device: Device) -> None:
    tensor = Tensor.stored(values(4, 4), "float16")
    for call in (lambda: ops.add(tensor, tensor), lambda: ops.matmul(tensor, tensor),
                 lambda: ops.linear(tensor, tensor)):
        with pytest.raises(ShapeError, match="float32"):
            call()
    with pytest.raises(ShapeError, match="not stored so"):
        Tensor.stored(values(4), "int8")


# Linear


SIZES = [(1, 1, 1), (1, 4, 8), (5, 7, 3), (6, 13, 17), (1, 33, 65), (33, 64, 65), (34, 128, 36),
         (1, 128, 36), (64, 32, 128), (3, 6, 9)]  # rows, K, N


def forms(bias: torch.Tensor, residual: torch.Tensor) -> Iterator[tuple[dict, torch.Tensor]]:
    """What may go with a product, and PyTorch's result from the product."""
    yield {}, lambda y: y
    yield {"bias": bias}, lambda y: y + bias
    yield {"residual": residual}, lambda y: y + residual
    yield {"bias": bias, "residual": residual}, lambda y: y + bias + residual
    yield {"bias": bias, "activation": "gelu"}, lambda y: F.gelu(y + bias, approximate="tanh")
    yield {"activation": "relu"}, torch.relu
    yield {"activation": "silu"}, F.silu


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("rows", "K", "N"), SIZES)
def test_linear_and_the_gradient_of_its_input(each_device: Device, dtype: str, rows: int, K: int,
                                              N: int) -> None:
    weight = values(N, K, seed=1, scale=K**-0.5)
    bias, residual = torch.tensor(values(N, seed=2)), torch.tensor(values(rows, N, seed=3))
    output_gradient = values(rows, N, seed=4)
    for settings, finish in forms(bias, residual):
        expected_x = torch.tensor(values(rows, K).astype(np.float64), requires_grad=True)
        expected = finish(F.linear(expected_x, through_torch(weight, dtype)))
        expected.backward(torch.tensor(output_gradient.astype(np.float64)))
        x = Tensor.from_numpy(values(rows, K), requires_grad=True)
        tensors = {name: Tensor.from_numpy(value.numpy()) if isinstance(value, torch.Tensor)
                   else value for name, value in settings.items()}
        y = ops.linear(x, Tensor.stored(weight, dtype), **tensors)
        assert_close(y.numpy(), expected.detach().numpy(), 2e-5, f"forward {settings.keys()}")
        y.backward(Tensor.from_numpy(output_gradient))
        assert_close(x.grad.numpy(), expected_x.grad.numpy(), 2e-5, f"dx {settings.keys()}")


def dispatches(device: Device, call: object) -> int:
    """How many launches a call records."""
    run(device.flush())
    before = device.gpu.counters()["dispatches"]
    call()
    run(device.flush())
    run(device.gpu.wait())
    return device.gpu.counters()["dispatches"] - before


@pytest.mark.parametrize("dtype", ["float32", *HALVES])
@pytest.mark.parametrize("with_bias", [False, True])
def test_a_residual_costs_no_dispatch_of_its_own(device: Device, dtype: str,
                                                 with_bias: bool) -> None:
    x, residual = Tensor.from_numpy(values(1, 8)), Tensor.from_numpy(values(1, 12))
    bias = Tensor.from_numpy(values(12)) if with_bias else None
    weight = Tensor.stored(values(12, 8), dtype)
    assert dispatches(device, lambda: ops.linear(x, weight, bias, residual=residual)) == 1


def test_float16_below_its_normal_numbers_counts(device: Device) -> None:
    tiny = np.full((4, 4), 2.0**-20, np.float32)
    y = ops.linear(Tensor.from_numpy(np.ones((1, 4), np.float32)), Tensor.stored(tiny, "float16"))
    np.testing.assert_array_equal(y.numpy(), np.full((1, 4), 4 * 2.0**-20, np.float32))


# Embedding


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("count", "V", "C"), [(1, 1, 1), (7, 31, 129), (300, 257, 32), (5, 3, 7)])
def test_embedding_is_exact(each_device: Device, dtype: str, count: int, V: int, C: int) -> None:
    ids = np.random.default_rng(V).integers(0, V, count).astype(np.uint32)
    table = values(V, C)
    received = ops.embedding(Tensor.from_numpy(ids), Tensor.stored(table, dtype)).numpy()
    expected = through_torch(table, dtype)[torch.tensor(ids.astype(np.int64))]
    np.testing.assert_array_equal(received, expected.numpy())


# Weights that an adapter cannot bind at once


@pytest.fixture
def small_limit(each_device: Device, monkeypatch: pytest.MonkeyPatch) -> int:
    """An adapter that binds at most so many bytes; launches that ask for more are refused."""
    limit = 20_000
    monkeypatch.setitem(current_device().info.limits, "maxStorageBufferBindingSize", limit)
    return limit


@pytest.mark.parametrize("dtype", ["float32", *HALVES])
@pytest.mark.parametrize(("rows", "K", "N"), [(1, 16, 700), (3, 16, 700), (1, 15, 1031),
                                              (2, 13, 1031), (1, 64, 516)])
def test_a_linear_weight_in_ranges(small_limit: int, dtype: str, rows: int, K: int,
                                   N: int) -> None:
    weight = Tensor.stored(values(N, K, seed=1), dtype)
    assert weight.region.size > small_limit
    bias, residual = torch.tensor(values(N, seed=2)), torch.tensor(values(rows, N, seed=3))
    x = values(rows, K)
    for settings, finish in forms(bias, residual):
        product = F.linear(torch.tensor(x).double(), torch.tensor(weight.numpy()).double())
        tensors = {name: Tensor.from_numpy(value.numpy()) if isinstance(value, torch.Tensor)
                   else value for name, value in settings.items()}
        y = ops.linear(Tensor.from_numpy(x), weight, **tensors)
        assert_close(y.numpy(), finish(product).numpy(), 2e-5, f"{settings.keys()}")


@pytest.mark.parametrize("dtype", ["float32", *HALVES])
@pytest.mark.parametrize(("V", "C"), [(700, 16), (1031, 13)])
def test_a_table_in_ranges(small_limit: int, dtype: str, V: int, C: int) -> None:
    table = Tensor.stored(values(V, C), dtype)
    assert table.region.size > small_limit
    ids = np.random.default_rng(0).integers(0, V, 300).astype(np.uint32)
    ids[:3] = 0, V - 1, V // 2
    received = ops.embedding(Tensor.from_numpy(ids), table).numpy()
    np.testing.assert_array_equal(received, table.numpy()[ids])


def test_rows_too_long_for_the_adapter_are_refused(small_limit: int) -> None:
    with pytest.raises(ShapeError, match="longer than this adapter can bind"):
        ops.linear(Tensor.from_numpy(values(1, 1001)), Tensor.stored(values(11, 1001), "float32"))


# Parameters


class TwoMatrices(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(8, 4, bias=False)
        self.second = nn.Linear(8, 6, bias=False)
        self.joined = nn.Joined([self.first.weight, self.second.weight])


def test_a_lazy_parameter_draws_only_when_asked(device: Device) -> None:
    drawn = []

    def draw() -> np.ndarray:
        drawn.append(1)
        return values(4, 8)

    parameter = nn.Parameter.lazy((4, 8), True, draw)
    assert (parameter.shape, parameter.decay, parameter.requires_grad) == ((4, 8), True, True)
    data = pack(values(4, 8, seed=9), "bfloat16")
    region = device.allocate(len(data), "weights").region
    device.write(region, data)
    parameter.place(region, None, dtype="bfloat16")
    assert parameter.dtype == "bfloat16"
    assert not parameter.requires_grad
    np.testing.assert_array_equal(parameter.numpy(), rounded(values(4, 8, seed=9), "bfloat16"))
    assert drawn == []
    other = nn.Parameter.lazy((4, 8), True, draw)
    np.testing.assert_array_equal(other.numpy(), values(4, 8))
    assert drawn == [1]
    with pytest.raises(ShapeError, match="before its first use"):
        other.initial_values()


def test_lazy_layers_keep_their_draws() -> None:
    init, again = nn.Initializer(5), nn.Initializer(5)
    first, second = nn.Linear(3, 2, init=init), nn.Embedding(4, 3, init=init, std=0.5)
    expected = again.normal((2, 3), 3**-0.5), again.normal((4, 3), 0.5)
    # Asked for in the other order: each has its own stream.
    np.testing.assert_array_equal(second.weight.initial_values(), expected[1])
    np.testing.assert_array_equal(first.weight.initial_values(), expected[0])


def test_places_that_do_not_fit(device: Device) -> None:
    parameter = nn.Parameter(values(3, 5), decay=True)
    region = device.allocate(64, "place").region
    for part, dtype in ((region, "float32"), (region.part(0, 30), "bfloat16"),
                        (region.part(0, 60), "int8")):
        with pytest.raises(ShapeError, match="does not fit its place"):
            parameter.place(part, None, dtype=dtype)
    with pytest.raises(ShapeError, match="have no gradient"):
        parameter.place(region.part(0, 32), region, dtype="float16")


@pytest.mark.parametrize("dtype", HALVES)
def test_neighbours_in_16_bits_are_one_matrix(device: Device, dtype: str) -> None:
    module = TwoMatrices()
    data = pack(values(10, 8), dtype)
    region = device.allocate(len(data), "weights").region
    device.write(region, data)
    module.first.weight.place(region.part(0, 64), None, dtype=dtype)
    module.second.weight.place(region.part(64, 96), None, dtype=dtype)
    joined = module.joined.tensor
    assert (joined.dtype, joined.shape, joined.requires_grad) == (dtype, (10, 8), False)
    np.testing.assert_array_equal(joined.numpy(), rounded(values(10, 8), dtype))
    np.testing.assert_array_equal(module.second.weight.first_rows(2).numpy(),
                                  rounded(values(10, 8), dtype)[4:6])


def test_neighbours_must_touch_and_agree(device: Device) -> None:
    region = device.allocate(64, "weights").region
    odd, even = (nn.Parameter(values(rows, 5), decay=True) for rows in (1, 2))
    odd.place(region.part(0, 12), None, dtype="float16")
    even.place(region.part(12, 20), None, dtype="float16")
    with pytest.raises(ShapeError, match="a gap follows"):
        leaf_view([odd, even], (3, 5))
    even.place(region.part(12, 40), None)
    with pytest.raises(ShapeError, match="one dtype"):
        leaf_view([odd, even], (3, 5))


# Kernels


def test_float32_needs_nothing_of_16_bits() -> None:
    kernel = load_kernel("linear_forward")
    assert "<< vec2<u32>(16u)" not in kernel.compose({})
    assert "<< vec2<u32>(16u)" in kernel.compose({"STORED": 1})
    assert "unpack2x16float" in kernel.compose({"STORED": 2})
    sizes = {"M": 1, "N": 4, "K": 4}
    assert kernel.binding_bytes(sizes)["b"] == 64
    assert kernel.binding_bytes(sizes | {"STORED": 1})["b"] == 32
    with pytest.raises(KernelError, match="no such format"):
        kernel.compose({"STORED": 3})
