"""The gated delta rule: the plain recurrence in float64, pieces, padding, and Transformers."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
import torch
from transformers.models.qwen3_5 import modeling_qwen3_5 as qwen

from tabgrad.errors import ShapeError
from tabgrad.ops.delta_rule import DeltaHeads, delta_rule
from tabgrad.ops.delta_rule_cached import delta_rule_cached
from tabgrad.tensor import Tensor
from tests.helpers import opened
from tests.unit.check_op import assert_close, check_op
from tests.unit.test_attention import starts_of

HEADS = [DeltaHeads(1, 1, 4, 4), DeltaHeads(2, 4, 8, 16), DeltaHeads(2, 2, 16, 8),
         DeltaHeads(1, 2, 128, 128)]
NAMES = [f"HK{heads.HK}-HV{heads.HV}-DK{heads.DK}-DV{heads.DV}" for heads in HEADS]
LENGTHS = [1, 5, 33, 70, 129]


@pytest.fixture(params=["webgpu", "numpy"], autouse=True)
def each_device(request: pytest.FixtureRequest) -> None:
    opened(request.param)


def drawn(heads: DeltaHeads, *rows: int, seed: int = 0) -> list[np.ndarray]:
    """qkv, decay (some rows forget all, some nothing), beta."""
    rng = np.random.default_rng([seed, *rows])
    decay = -np.exp(2 * rng.standard_normal((*rows, heads.HV)) - 2)
    beta = 1 / (1 + np.exp(-2 * rng.standard_normal((*rows, heads.HV))))
    qkv = rng.standard_normal((*rows, heads.width))
    return [array.astype(np.float32) for array in (qkv, decay, beta)]


def recurrence(qkv: torch.Tensor, decay: torch.Tensor, beta: torch.Tensor, HK: int, HV: int,
               DK: int, DV: int, starts: np.ndarray | None = None) -> torch.Tensor:
    batch, time, _ = qkv.shape
    q, k, v = qkv.split([HK * DK, HK * DK, HV * DV], dim=-1)
    q, k = (x.reshape(batch, time, HK, DK) for x in (q, k))
    q, k = (x / torch.sqrt((x * x).sum(-1, keepdim=True) + 1e-6) for x in (q, k))
    q, k = (x.repeat_interleave(HV // HK, dim=2) for x in (q / DK**0.5, k))
    v = v.reshape(batch, time, HV, DV)
    state, out = torch.zeros(batch, HV, DK, DV, dtype=qkv.dtype), []
    for t in range(time):
        if starts is not None:
            state = state * torch.tensor(starts[:, t] < t)[:, None, None, None]
        state = decay[:, t].exp()[..., None, None] * state
        known = (k[:, t, :, None] @ state)[:, :, 0]
        delta = beta[:, t, :, None] * (v[:, t] - known)
        state = state + k[:, t, :, :, None] * delta[:, :, None]
        out.append((q[:, t, :, None] @ state)[:, :, 0])
    return torch.stack(out, dim=1).reshape(batch, time, HV * DV)


def exact(arrays: list[np.ndarray], heads: DeltaHeads) -> np.ndarray:
    tensors = [torch.tensor(array, dtype=torch.float64) for array in arrays]
    return recurrence(*tensors, heads.HK, heads.HV, heads.DK, heads.DV).numpy()


def run_rule(arrays: list[np.ndarray], heads: DeltaHeads) -> np.ndarray:
    return delta_rule(*map(Tensor.from_numpy, arrays), heads.HK, heads.HV, heads.DK,
                      heads.DV).numpy()


def run_cached(arrays: list[np.ndarray], heads: DeltaHeads, state: Tensor,
               span: tuple[int, int]) -> np.ndarray:
    return delta_rule_cached(*map(Tensor.from_numpy, arrays), heads.HK, heads.HV, heads.DK,
                             heads.DV, state, Tensor.from_numpy(np.array(span, np.uint32))).numpy()


def zero_state(heads: DeltaHeads) -> Tensor:
    return Tensor.from_numpy(np.zeros((heads.HV, heads.DK, heads.DV), np.float32))


@pytest.mark.parametrize("T", LENGTHS)
@pytest.mark.parametrize("heads", HEADS, ids=NAMES)
def test_forward_equals_the_recurrence(heads: DeltaHeads, T: int) -> None:
    arrays = drawn(heads, 2, T)
    assert_close(run_rule(arrays, heads), exact(arrays, heads), 2e-5, "forward")


@pytest.mark.parametrize("T", LENGTHS[1:])
@pytest.mark.parametrize("heads", HEADS[:3], ids=NAMES[:3])
def test_gradients(heads: DeltaHeads, T: int) -> None:
    check_op(delta_rule, recurrence, *drawn(heads, 2, T, seed=3), tolerance=5e-5,
             **asdict(heads))


@pytest.mark.parametrize("heads", HEADS[:3], ids=NAMES[:3])
def test_gradients_of_one_row(heads: DeltaHeads) -> None:
    qkv, decay, beta = drawn(heads, 2, 1, seed=3)
    check_op(lambda rows, b: delta_rule(rows, Tensor.from_numpy(decay), b, **asdict(heads)),
             lambda rows, b: recurrence(rows, torch.tensor(decay).double(), b, **asdict(heads)),
             qkv, beta, tolerance=5e-5)
    decays = Tensor.from_numpy(decay, requires_grad=True)
    rows, b = map(Tensor.from_numpy, (qkv, beta))
    delta_rule(rows, decays, b, **asdict(heads)).sum().backward()
    assert np.abs(decays.grad.numpy()).max() <= 1e-6  # nothing was there to decay


def test_gradients_of_wide_heads() -> None:
    heads = HEADS[3]
    check_op(delta_rule, recurrence, *drawn(heads, 1, 37, seed=4), tolerance=5e-5,
             **asdict(heads))


def test_gradients_where_little_is_kept() -> None:
    heads = DeltaHeads(2, 4, 8, 16)
    qkv, decay, beta = drawn(heads, 2, 40, seed=5)
    check_op(delta_rule, recurrence, qkv, decay - 9, beta, tolerance=5e-5, **asdict(heads))


def test_gradients_where_nothing_is_written_or_kept() -> None:
    heads = DeltaHeads(1, 1, 8, 8)
    qkv, decay, beta = drawn(heads, 1, 70)
    decay[:, ::7], beta[:, ::5] = -50.0, 0.0
    qkv[:, 3] = 0
    check_op(delta_rule, recurrence, qkv, decay, beta, tolerance=5e-5, finite_tolerance=2e-2,
             **asdict(heads))


def packed_rule(qkv: Tensor, decay: Tensor, beta: Tensor, starts: np.ndarray | None = None,
                **heads: int) -> Tensor:
    begins = None if starts is None else Tensor.from_numpy(starts)
    return delta_rule(qkv, decay, beta, **heads, starts=begins)


# Documents that begin at the border of a chunk of 32 rows and inside one, that end in the middle of
# a block of four, of one row, and of more than two chunks.
@pytest.mark.parametrize(("heads", "rows"), [
    (HEADS[0], [[1, 1, 3]]), (HEADS[1], [[32, 1, 31, 6], [29, 1, 1, 39]]),
    (HEADS[2], [[20, 75, 34], [32, 64, 32, 1]])])
def test_no_document_reaches_the_next(heads: DeltaHeads, rows: list[list[int]]) -> None:
    starts = starts_of(*rows)
    check_op(packed_rule, recurrence, *drawn(heads, *starts.shape, seed=6), tolerance=5e-5,
             **asdict(heads), starts=starts)


def out_and_gradients(arrays: list[np.ndarray], heads: DeltaHeads,
                      starts: np.ndarray | None) -> list[np.ndarray]:
    tensors = [Tensor.from_numpy(array, requires_grad=True) for array in arrays]
    out = packed_rule(*tensors, starts=starts, **asdict(heads))
    out.backward(Tensor.from_numpy(arrays[0][..., :heads.HV * heads.DV].copy()))
    return [out.numpy(), *(tensor.grad.numpy() for tensor in tensors)]


def test_what_other_documents_hold_changes_no_bit() -> None:
    heads, starts = DeltaHeads(2, 2, 8, 8), starts_of([30, 37, 3])
    arrays = drawn(heads, 1, 70)
    before = out_and_gradients(arrays, heads, starts)
    for array, other in zip(arrays, (1e4, -30.0, 1.0), strict=True):
        array[:, :30] = array[:, 67:] = other
    for ours, after in zip(before, out_and_gradients(arrays, heads, starts), strict=True):
        np.testing.assert_array_equal(ours[:, 30:67], after[:, 30:67])


def test_one_document_has_the_bits_of_a_whole_row() -> None:
    heads = DeltaHeads(2, 4, 8, 16)
    arrays = drawn(heads, 2, 70)
    packed = out_and_gradients(arrays, heads, np.zeros((2, 70), np.uint32))
    for ours, whole in zip(packed, out_and_gradients(arrays, heads, None), strict=True):
        np.testing.assert_array_equal(ours, whole)


@pytest.mark.parametrize("T", LENGTHS)
@pytest.mark.parametrize("heads", HEADS, ids=NAMES)
def test_forward_equals_transformers(heads: DeltaHeads, T: int) -> None:
    arrays = drawn(heads, 1, T, seed=1)
    qkv, decay, beta = map(torch.tensor, arrays)
    keys = heads.HK * heads.DK
    q, k, v = qkv.split([keys, keys, heads.HV * heads.DV], dim=-1)
    q, k = (x.reshape(1, T, heads.HK, heads.DK) for x in (q, k))
    v = v.reshape(1, T, heads.HV, heads.DV)
    state = zero_state(heads)
    cached = run_cached([array[0] for array in arrays], heads, state, (0, T))
    whole = run_rule(arrays, heads)
    for rule in (qwen.torch_chunk_gated_delta_rule, qwen.torch_recurrent_gated_delta_rule):
        out, last = rule(q, k, v, g=decay, beta=beta, output_final_state=True,
                         use_qk_l2norm_in_kernel=True)
        expected = out.numpy().reshape(1, T, -1)
        assert np.abs(whole - expected).max() <= 1e-4
        assert np.abs(cached - expected[0]).max() <= 1e-4
        assert np.abs(state.numpy() - last[0].numpy()).max() <= 1e-4


@pytest.mark.parametrize(("pieces", "padding"), [
    ([1] * 9, 0), ([5, 1, 33, 2, 70], 0), ([3, 0, 32, 1, 64], 5), ([40, 1, 7], 61)])
@pytest.mark.parametrize("heads", HEADS, ids=NAMES)
def test_pieces_equal_the_whole(heads: DeltaHeads, pieces: list[int], padding: int) -> None:
    arrays = drawn(heads, 1, sum(pieces), seed=2)
    whole = exact(arrays, heads)[0]
    state = zero_state(heads)
    done = 0
    for count in pieces:
        piece = []
        for array in arrays:
            padded = np.full((count + padding, array.shape[-1]), np.nan, np.float32)
            padded[:count] = array[0, done:done + count]
            piece.append(padded)
        out = run_cached(piece, heads, state, (done, count))
        if count:
            assert_close(out[:count], whole[done:done + count], 2e-5, f"rows from {done}")
        done += count
    after_whole = zero_state(heads)
    run_cached([array[0] for array in arrays], heads, after_whole, (0, done))
    assert_close(state.numpy(), after_whole.numpy(), 2e-5, "state")


def test_no_row_sees_a_later_one() -> None:
    heads = DeltaHeads(2, 4, 8, 16)
    arrays = drawn(heads, 2, 50)
    before = run_rule(arrays, heads)
    for array, other in zip(arrays, (1e6, -3.0, 0.5), strict=True):
        array[:, 23:] = other
    np.testing.assert_array_equal(before[:, :23], run_rule(arrays, heads)[:, :23])


def test_a_long_memory_stays_exact() -> None:
    heads = DeltaHeads(1, 2, 16, 16)
    qkv, decay, beta = drawn(heads, 1, 400)
    arrays = [qkv, decay * 1e-3, beta]
    assert_close(run_rule(arrays, heads), exact(arrays, heads), 5e-5, "forward")


def test_a_state_that_forgets_all_at_once() -> None:
    heads = DeltaHeads(1, 1, 8, 8)
    qkv, decay, beta = drawn(heads, 1, 70)
    decay[:, ::7] = -300.0  # far below what exp can hold
    arrays = [qkv, decay, beta]
    assert_close(run_rule(arrays, heads), exact(arrays, heads), 2e-5, "forward")


@pytest.mark.parametrize("heads", [DeltaHeads(2, 3, 8, 8), DeltaHeads(1, 1, 6, 8),
                                   DeltaHeads(1, 1, 8, 16), DeltaHeads(0, 1, 8, 8)])
def test_shapes_that_do_not_fit(heads: DeltaHeads) -> None:
    qkv, decay, beta = drawn(DeltaHeads(1, 1, 8, 8), 1, 3)
    with pytest.raises(ShapeError, match="delta_rule"):
        run_rule([qkv, decay, beta], heads)
    fitting = [Tensor.from_numpy(array) for array in (qkv, decay, beta)]
    with pytest.raises(ShapeError, match="start"):
        packed_rule(*fitting, starts=np.zeros((1, 2), np.uint32), HK=1, HV=1, DK=8, DV=8)


def test_a_state_of_another_shape() -> None:
    heads = DeltaHeads(1, 2, 4, 8)
    arrays = [array[0] for array in drawn(heads, 1, 3)]
    with pytest.raises(ShapeError, match="state"):
        run_cached(arrays, heads, Tensor.from_numpy(np.zeros((2, 8, 4), np.float32)), (0, 3))
