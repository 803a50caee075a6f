"""Attention against a cache: chunks and single steps equal attention over the whole sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tabgrad import ops
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import Device, current_device
from tabgrad.tensor import Tensor
from tests.helpers import opened
from tests.unit.check_op import assert_close

attention_cached = import_module("tabgrad.ops.attention_cached")  # not the op of that name
OLD = 1e3  # what the cache holds before: whoever reads it by mistake is far off


@pytest.fixture(params=["webgpu", "numpy"], autouse=True)
def each_device(request: pytest.FixtureRequest) -> None:
    opened(request.param)


@dataclass(frozen=True)
class Case:
    """One model's heads, its window, the cache's rows, and how the sequence is cut."""

    HQ: int
    HK: int
    D: int
    window: int
    R: int
    chunks: Sequence[tuple[int, int]]  # (T of the plan, rows that count)
    scale: float | None = None

    @property
    def steps(self) -> int:
        return sum(rows for _, rows in self.chunks)


CASES = {
    "one head, all T = 1": Case(1, 1, 4, 0, 9, [(1, 1)] * 9),
    "grouped": Case(4, 2, 64, 0, 120, [(70, 70), (1, 1), (1, 1), (33, 33), (1, 1), (2, 2)]),
    "one key head": Case(3, 1, 20, 0, 60, [(33, 33), (2, 2), (1, 1), (2, 2), (1, 1)]),
    "wide heads": Case(4, 1, 256, 0, 50, [(33, 33), (1, 1), (2, 2), (1, 1)], scale=0.05),
    "small heads": Case(2, 2, 4, 3, 80, [(70, 70), (1, 1), (2, 2), (1, 1)]),
    "padding": Case(6, 2, 64, 0, 70, [(33, 20), (33, 33), (2, 1), (1, 1), (33, 5)]),
    "padding beyond the cache": Case(2, 1, 32, 0, 12, [(33, 7), (2, 1), (1, 1), (33, 3)]),
    "ring": Case(4, 2, 64, 8, 40, [(33, 33), (33, 33), (1, 1), (33, 33), *[(1, 1)] * 9, (2, 2)],
                 scale=0.3),
    "ring, padding": Case(3, 1, 20, 5, 37, [(33, 30), (33, 31), (33, 1), (1, 1), (33, 33),
                                            (2, 1), (33, 33)]),
    "ring, wide heads": Case(2, 1, 256, 4, 5, [(2, 2)] * 5 + [(1, 1)] * 7 + [(2, 1), (2, 2)]),
    "ring of one window": Case(2, 2, 16, 6, 6, [(1, 1)] * 20),
    "window of one": Case(2, 1, 32, 1, 33, [(33, 33), (33, 33), (1, 1)]),
}


def words(*values: int) -> Tensor:
    return Tensor.from_numpy(np.array(values, np.uint32))


def expected_cache(case: Case, qkv: np.ndarray) -> np.ndarray:
    cache = np.full((case.R, 2 * case.HK * case.D), OLD, np.float32)
    for position in range(case.steps):
        cache[position % case.R] = qkv[position, case.HQ * case.D:]
    return cache


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_chunks_and_steps_equal_the_whole_sequence(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", [
    Case(1, 1, 16, 0, 70, [(1, 1)] * 67),
    Case(3, 1, 64, 0, 140, [(33, 33), (70, 70), (1, 1)]),
    Case(7, 1, 32, 5, 9, [(1, 1)] * 20),
    Case(4, 2, 256, 70, 70, [(1, 1), (1, 1), (70, 66), (1, 1)]),
    Case(5, 5, 96, 0, 9, [(8, 8), (1, 1)], scale=0.3),
    Case(4, 2, 128, 0, 140, [(70, 66), (70, 70)]),
    Case(2, 1, 80, 5, 13, [(9, 9), (9, 3), (9, 9), (9, 8), (1, 1)])])
def test_the_kernels_for_swiftshader(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = []
    launch = Device.launch

    def spy(self: Device, kernel: str, *arguments: Any, **regions: Any) -> None:
        kernels.append(kernel)
        launch(self, kernel, *arguments, **regions)

    monkeypatch.setattr(attention_cached, "is_called", lambda info, name: name == "swiftshader")
    monkeypatch.setattr(attention_cached, "unrolls", lambda head, info: False)
    monkeypatch.setattr(Device, "launch", spy)
    check(case)
    assert kernels.count("attention_decode_lanes") == sum(T == 1 for T, _ in case.chunks)
    assert kernels.count("attention_cached_lanes") == sum(T > 1 for T, _ in case.chunks)


def check(case: Case) -> None:
    rng = np.random.default_rng(case.D)
    packed = (case.HQ + 2 * case.HK) * case.D
    qkv = rng.standard_normal((case.steps, packed)).astype(np.float32)
    whole = ops.attention(Tensor.from_numpy(qkv[None]), case.HQ, case.HK, scale=case.scale,
                          window=case.window).numpy()[0]
    cache = Tensor.from_numpy(np.full((case.R, 2 * case.HK * case.D), OLD, np.float32))
    first = 0
    for T, rows in case.chunks:
        chunk = np.full((T, packed), np.inf, np.float32)  # padding may hold anything
        chunk[:rows] = qkv[first:first + rows]
        # A plan of one row reads only the position.
        span = words(first, 99) if T == 1 else words(first, rows)
        out = ops.attention_cached(Tensor.from_numpy(chunk), cache, span, case.HQ, case.HK,
                                   scale=case.scale, window=case.window).numpy()
        assert out.shape == (T, case.HQ * case.D)
        assert_close(out[:rows], whole[first:first + rows], 2e-5, f"{rows} rows from {first}")
        np.testing.assert_array_equal(out[rows:], 0)
        first += rows
    np.testing.assert_array_equal(cache.numpy(), expected_cache(case, qkv))


@pytest.mark.parametrize("D", [20, 32])
def test_a_chunk_of_padding_alone(D: int) -> None:
    qkv = np.full((5, 3 * D), np.nan, np.float32)
    cache = Tensor.from_numpy(np.full((7, 2 * D), OLD, np.float32))
    out = ops.attention_cached(Tensor.from_numpy(qkv), cache, words(3, 0), 1).numpy()
    np.testing.assert_array_equal(out, 0)
    np.testing.assert_array_equal(cache.numpy(), OLD)


def test_one_plan_for_every_position() -> None:
    """The span is data: the same kernels, not one for each position."""
    device = current_device()
    cache = Tensor.from_numpy(np.zeros((16, 2 * 8), np.float32))
    qkv = np.zeros((1, 3 * 8), np.float32)
    for position in range(3):
        ops.attention_cached(Tensor.from_numpy(qkv), cache, words(position, 1), 1).numpy()
        if position == 0:
            made = device.gpu.counters()["pipelines"]
    assert device.gpu.counters()["pipelines"] == made


@pytest.mark.parametrize(("qkv", "cache", "span", "heads", "match"), [
    ((1, 24), (5, 12), 2, (2, 2), "the cache has"), ((1, 24), (16,), 2, (2, 2), "the cache has"),
    ((1, 2, 24), (5, 16), 2, (2, 2), "one sequence"), ((2, 24), (5, 16), 1, (2, 2), "span"),
    ((2, 24), (5, 16), 2, (3, 2), "same number of query heads")])
def test_shapes_that_do_not_fit(qkv: tuple[int, ...], cache: tuple[int, ...], span: int,
                                heads: tuple[int, int], match: str) -> None:
    with pytest.raises(ShapeError, match=match):
        ops.attention_cached(Tensor.from_numpy(np.zeros(qkv, np.float32)),
                             Tensor.from_numpy(np.zeros(cache, np.float32)),
                             words(*[0] * span), *heads)


def test_a_window_below_zero() -> None:
    with pytest.raises(ShapeError, match="window"):
        ops.attention_cached(Tensor.from_numpy(np.zeros((2, 12), np.float32)),
                             Tensor.from_numpy(np.zeros((5, 8), np.float32)), words(0, 2), 1,
                             window=-1)
