"""The head and its loss in chunks of rows, against PyTorch and against both at once."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch

from tabgrad import ops
from tabgrad.data.source import IGNORED
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.variants import collecting
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import preset
from tabgrad.reference.stored import pack
from tabgrad.tensor import Tensor
from tests.helpers import opened, run
from tests.unit.check_op import assert_close, check_op

ROWS, CHANNELS, VOCABULARY = 150, 12, 31  # two chunks of 64 rows and one of 22


@pytest.fixture(params=["webgpu", "numpy"], autouse=True)
def small_chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(request.param)
    monkeypatch.setattr(importlib.import_module("tabgrad.ops.linear_cross_entropy"),
                        "MOST_BYTES", 1)


def ours(x: Tensor, weight: Tensor, targets: Tensor, *rest: Tensor,
         cap: float | None = None) -> Tensor:
    scale, bias = (*rest, None, None)[:2]
    return ops.linear_cross_entropy(x, weight, targets, scale, bias=bias, cap=cap)


def torch_loss(x: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, *rest: torch.Tensor,
               cap: float | None = None) -> torch.Tensor:
    logits = torch.nn.functional.linear(x, weight, rest[1] if len(rest) > 1 else None)
    logits = logits if cap is None else cap * torch.tanh(logits / cap)
    ids = torch.where(targets == IGNORED, -100, targets)
    total = torch.nn.functional.cross_entropy(logits, ids, reduction="sum")
    return rest[0][0] * total if rest else total / len(ids)


def inputs() -> list[np.ndarray]:
    """x, weight, targets of which some do not count, the scale of the sum, and a bias."""
    rng = np.random.default_rng(3)
    targets = rng.integers(0, VOCABULARY, ROWS).astype(np.uint32)
    targets[60:70] = IGNORED
    x, weight, bias = (rng.standard_normal(shape).astype(np.float32) for shape in (
        (ROWS, CHANNELS), (VOCABULARY, CHANNELS), VOCABULARY))
    return [x, weight, targets, np.array([1 / 140], np.float32), bias]


def stored(weight: np.ndarray) -> Tensor:
    """A matrix in bfloat16."""
    data = pack(weight, "bfloat16")
    region = current_device().allocate(len(data), "head").region
    current_device().write(region, data)
    return Tensor(weight.shape, "bfloat16", region)


@pytest.mark.parametrize(("count", "cap"), [(4, None), (5, 2.0)])
def test_the_sum_of_chunks(count: int, cap: float | None) -> None:
    check_op(ours, torch_loss, *inputs()[:count], cap=cap)


def test_the_mean_over_all_rows() -> None:
    x, weight, targets, *_ = inputs()
    check_op(ours, torch_loss, x, weight, targets % VOCABULARY)


def test_a_frozen_head_in_16_bits() -> None:
    x, weight, targets, scale, _ = inputs()
    found = []
    for chunked in (True, False):
        own = Tensor.from_numpy(x, requires_grad=True)
        head = stored(weight)
        ids, factor = Tensor.from_numpy(targets), Tensor.from_numpy(scale)
        loss = (ours(own, head, ids, factor) if chunked
                else ops.cross_entropy(ops.linear(own, head), ids, factor))
        loss.backward()
        found.append((loss.numpy(), own.grad.numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-7)


@pytest.mark.parametrize("small_chunks", ["numpy"], indirect=True)  # no pipelines to compile
def test_a_decoder_takes_it_for_many_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = Decoder(preset("tiny"), seed=1)
    ids = np.random.default_rng(1).integers(0, 256, (2, 49)).astype(np.uint32)
    found = []
    for most in (2 * 48 * 256 * 4, 2 * 48 * 256 * 4 - 1):
        monkeypatch.setattr(importlib.import_module("tabgrad.models.head"), "MOST_BYTES",
                            most)
        decoder.arena.clear_gradients()
        with collecting() as products:
            loss = decoder.loss(*(Tensor.from_numpy(np.ascontiguousarray(part))
                                  for part in (ids[:, :-1], ids[:, 1:])))
        loss.backward()
        found.append((loss.numpy(), run(decoder.arena.read(decoder.arena.gradients)),
                      [rows for _, rows, columns, _ in products if columns == 256][-2:]))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-6)
    for name, gradient in found[0][1].items():
        assert_close(found[1][1][name], gradient, 1e-5, name)
    assert found[0][2][-1] == 96 and found[1][2] == [64, 32]


def test_one_target_for_each_row() -> None:
    x, weight, targets = (Tensor.from_numpy(array) for array in inputs()[:3])
    with pytest.raises(ShapeError, match="target"):
        ops.linear_cross_entropy(x, weight, targets.reshape(2, -1))
