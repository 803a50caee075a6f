"""Mixture of experts, forward and backward, against PyTorch and Transformers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import MixtralConfig, Qwen3MoeConfig
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeSparseMoeBlock

from tabgrad import ops
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import Device, current_device
from tabgrad.ops.experts import expert_ranges
from tabgrad.ops.fit import fit
from tabgrad.tensor import Tensor
from tests.helpers import opened, run
from tests.unit.check_op import assert_close, check_op

# N, C, F, E, top_k, normalize: a single row, few rows of many experts, many of few, all experts,
# widths that are not multiples of four.
SHAPES = [(1, 12, 16, 3, 2, True), (1, 20, 36, 128, 8, False), (7, 12, 16, 3, 2, False),
          (7, 36, 20, 128, 8, True), (7, 4, 4, 3, 3, True), (33, 12, 16, 3, 1, False),
          (33, 20, 12, 5, 5, True), (33, 36, 68, 11, 2, False), (33, 12, 16, 3, 2, True),
          (9, 13, 7, 5, 2, True), (1, 8, 3, 3, 1, False)]
HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


@pytest.fixture(params=["webgpu", "numpy"])
def each_device(request: pytest.FixtureRequest) -> Device:
    return opened(request.param)


def torch_moe(x: torch.Tensor, router_logits: torch.Tensor, gate_up: torch.Tensor,
              down: torch.Tensor, top_k: int, normalize: bool) -> torch.Tensor:
    """All experts for all rows, those that were not chosen with weight zero."""
    weights, experts = router_logits.softmax(-1).topk(top_k)
    if normalize:
        weights = weights / weights.sum(-1, keepdim=True)
    every = torch.zeros_like(router_logits).scatter(-1, experts, weights)  # (N, E)
    gate, up = torch.einsum("nc,efc->nef", x, gate_up).chunk(2, -1)
    results = torch.einsum("nef,ecf->nec", torch.nn.functional.silu(gate) * up, down)
    return torch.einsum("nec,ne->nc", results, every)


def inputs(N: int, C: int, F: int, E: int) -> list[np.ndarray]:
    """x, router logits, gate_up, down. A row's logits are so far apart that a finite difference
    does not change which experts are chosen."""
    rng = np.random.default_rng([N, C, F, E])
    logits = rng.permuted(np.tile(0.06 * np.arange(E) - 0.03 * E, (N, 1)), axis=1)
    arrays = [rng.standard_normal((N, C)), logits, rng.standard_normal((E, 2 * F, C)) / C**0.5,
              rng.standard_normal((E, C, F)) / F**0.5]
    return [array.astype(np.float32) for array in arrays]


def expected(arrays: list[np.ndarray], **settings: object) -> np.ndarray:
    return torch_moe(*(torch.tensor(array, dtype=torch.float64) for array in arrays),
                     **settings).numpy()


@pytest.mark.parametrize(("N", "C", "F", "E", "top_k", "normalize"), SHAPES)
def test_moe(each_device: Device, N: int, C: int, F: int, E: int, top_k: int,
             normalize: bool) -> None:
    check_op(ops.moe, torch_moe, *inputs(N, C, F, E), top_k=top_k, normalize=normalize)


@pytest.mark.parametrize("rows", [1, 9])
def test_a_normalized_single_choice_has_weight_one(each_device: Device, rows: int) -> None:
    arrays = inputs(rows, 12, 16, 3)
    tensors = [Tensor.from_numpy(array, requires_grad=True) for array in arrays]
    out = ops.moe(*tensors, 1, normalize=True)
    assert_close(out.numpy(), expected(arrays, top_k=1, normalize=True), 2e-5, "forward")
    out.backward(Tensor.from_numpy(np.ones(out.shape, np.float32)))
    np.testing.assert_allclose(tensors[1].grad.numpy(), 0.0, atol=1e-6)


def test_equal_logits_choose_the_lower_expert(each_device: Device) -> None:
    for rows in (1, 9):
        arrays = inputs(rows, 8, 4, 6)
        arrays[1] = np.tile(np.float32([1, 3, 3, 0, 3, 1]), (rows, 1))
        received = ops.moe(*map(Tensor.from_numpy, arrays), 2, normalize=True).numpy()
        arrays[1] = np.tile(np.float32([-99, 3, 3, -99, -99, -99]), (rows, 1))
        assert_close(received, expected(arrays, top_k=2, normalize=True), 2e-5, f"{rows} rows")


@pytest.mark.parametrize("rows", [40, 2])
def test_all_rows_may_go_to_one_expert(each_device: Device, rows: int) -> None:
    arrays = inputs(rows, 12, 8, 9)
    arrays[1][:] = 0.0
    arrays[1][:, 7] = 200.0
    received = ops.moe(*map(Tensor.from_numpy, arrays), 1, normalize=False).numpy()
    assert_close(received, expected(arrays, top_k=1, normalize=False), 2e-5, "forward")


def test_only_the_chosen_experts_count(each_device: Device) -> None:
    for rows in (1, 8):
        arrays = inputs(rows, 8, 4, 5)
        arrays[1] -= 50 * np.isin(np.arange(5), (1, 3))
        before = ops.moe(*map(Tensor.from_numpy, arrays), 3, normalize=True).numpy()
        for weights in arrays[2:]:
            weights[[1, 3]] = np.nan
        after = ops.moe(*map(Tensor.from_numpy, arrays), 3, normalize=True).numpy()
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("axes", [(), (2, 3), (1, 1)])
def test_x_may_have_any_leading_axes(each_device: Device, axes: tuple[int, ...]) -> None:
    rows = int(np.prod(axes))
    arrays = inputs(rows, 8, 12, 4)
    tensors = [Tensor.from_numpy(array.reshape(*axes, array.shape[-1])) for array in arrays[:2]]
    out = ops.moe(*tensors, *map(Tensor.from_numpy, arrays[2:]), 2, normalize=False)
    assert out.shape == (*axes, 8)
    assert_close(out.numpy().reshape(rows, 8), expected(arrays, top_k=2, normalize=False), 2e-5,
                 "forward")


def block_of(family: str, C: int, F: int, E: int, top_k: int, normalize: bool) -> torch.nn.Module:
    """Transformers' own layer, with random weights."""
    torch.manual_seed(E)
    if family == "mixtral":
        block = MixtralSparseMoeBlock(MixtralConfig(
            hidden_size=C, intermediate_size=F, num_local_experts=E, num_experts_per_tok=top_k))
    else:
        block = Qwen3MoeSparseMoeBlock(Qwen3MoeConfig(
            hidden_size=C, moe_intermediate_size=F, num_experts=E, num_experts_per_tok=top_k,
            norm_topk_prob=normalize))
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return block.eval()


@pytest.mark.parametrize("rows", [1, 29])
@pytest.mark.parametrize(("family", "C", "F", "E", "top_k", "normalize"), [
    ("mixtral", 36, 44, 8, 2, True), ("mixtral", 12, 16, 3, 2, True),
    ("qwen3_moe", 32, 20, 128, 8, True), ("qwen3_moe", 32, 20, 16, 4, False)])
def test_transformers_layers(each_device: Device, family: str, C: int, F: int, E: int, top_k: int,
                             normalize: bool, rows: int) -> None:
    block = block_of(family, C, F, E, top_k, normalize)
    x = torch.randn(1, rows, C)
    x.requires_grad_()
    theirs = block(x)
    output_gradient = torch.randn(1, rows, C)
    theirs.backward(output_gradient)
    ours = [Tensor.from_numpy(parameter.detach().numpy(), requires_grad=True) for parameter in
            (x, block.gate.weight, block.experts.gate_up_proj, block.experts.down_proj)]
    out = ops.moe(ours[0], ops.linear(ours[0], ours[1]), *ours[2:], top_k, normalize=normalize)
    assert_close(out.numpy(), theirs.detach().numpy(), 1e-5, "forward")
    out.backward(Tensor.from_numpy(output_gradient.numpy()))
    parameters = (x, block.gate.weight, block.experts.gate_up_proj, block.experts.down_proj)
    for tensor, parameter in zip(ours, parameters, strict=True):
        assert_close(tensor.grad.numpy(), parameter.grad.numpy(), 2e-5, str(tensor.shape))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("rows", "C", "F"), [(1, 20, 12), (23, 20, 12), (5, 9, 11)])
def test_weights_in_16_bits(each_device: Device, dtype: str, rows: int, C: int, F: int) -> None:
    arrays = inputs(rows, C, F, 6)
    x, logits = (Tensor.from_numpy(array, requires_grad=True) for array in arrays[:2])
    out = ops.moe(x, logits, *(Tensor.stored(array, dtype) for array in arrays[2:]), 2,
                  normalize=True)
    theirs = [torch.tensor(array).double().requires_grad_() for array in arrays[:2]]
    rounded = [torch.tensor(array).to(HALVES[dtype]).double() for array in arrays[2:]]
    reference = torch_moe(*theirs, *rounded, 2, True)
    assert_close(out.numpy(), reference.detach().numpy(), 2e-5, "forward")
    out.backward(Tensor.from_numpy(np.ones(out.shape, np.float32)))
    reference.sum().backward()
    for ours, their in zip((x, logits), theirs, strict=True):
        assert_close(ours.grad.numpy(), their.grad.numpy(), 2e-5, str(ours.shape))


@pytest.mark.parametrize(("shape", "rows", "columns"), [((3, 5, 7), 8, 8), ((2, 9, 6), 4, 5),
                                                        ((1, 1, 1), 1, 3), ((2, 70, 3), 65, 66)])
def test_fit(each_device: Device, shape: tuple[int, ...], rows: int, columns: int) -> None:
    def padded(x: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
        return torch.nn.functional.pad(x, (0, columns - x.shape[2], 0, rows - x.shape[1]))
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    check_op(fit, padded, x, rows=rows, columns=columns)


def test_weights_in_16_bits_get_no_gradient(device: Device) -> None:
    x, logits, gate_up, down = map(Tensor.from_numpy, inputs(3, 8, 4, 5))
    stored = Tensor.stored(down.numpy(), "bfloat16")
    stored.requires_grad = True
    with pytest.raises(ShapeError, match="get no gradient"):
        ops.moe(x, logits, gate_up, stored, 2, normalize=True)


@pytest.mark.parametrize("rows", [1, 17])
def test_experts_beyond_the_binding_limit(each_device: Device, rows: int,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = inputs(rows, 60, 36, 15)
    whole = ops.moe(*map(Tensor.from_numpy, arrays), 3, normalize=True).numpy()
    limits = current_device().info.limits
    # An expert has 17,280 and 8,640 bytes; a range starts at a multiple of 256.
    monkeypatch.setitem(limits, "maxStorageBufferBindingSize", 36_000)
    counts = [[each.count for each in expert_ranges(tensor.shape, tensor.dtype, tensor.region)]
              for tensor in map(Tensor.from_numpy, arrays[2:])]
    assert counts == [[2] * 7 + [1], [4, 4, 4, 3]]
    tensors = [Tensor.from_numpy(array, requires_grad=True) for array in arrays]
    out = ops.moe(*tensors, 3, normalize=True)
    assert_close(out.numpy(), whole, 1e-6, "in ranges")
    for _ in range(2):
        out.backward(Tensor.from_numpy(np.ones(out.shape, np.float32)))
    reference = [torch.tensor(array).double().requires_grad_() for array in arrays]
    torch_moe(*reference, 3, True).sum().backward()
    for tensor, their in zip(tensors, reference, strict=True):
        assert_close(tensor.grad.numpy(), 2 * their.grad.numpy(), 2e-5, str(tensor.shape))


def test_an_expert_that_cannot_be_bound(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = [Tensor.from_numpy(array) for array in inputs(1, 64, 64, 3)]
    monkeypatch.setitem(device.info.limits, "maxStorageBufferBindingSize", 16384)
    with pytest.raises(ShapeError, match="one expert is larger"):
        ops.moe(*tensors, 1, normalize=True)


def test_the_same_bits_every_time(device: Device) -> None:
    arrays = inputs(33, 36, 68, 11)
    results = []
    for _ in range(3):
        tensors = [Tensor.from_numpy(array, requires_grad=True) for array in arrays]
        out = ops.moe(*tensors, 2, normalize=True)
        out.backward(Tensor.from_numpy(np.ones(out.shape, np.float32)))
        results.append([out.numpy(), *(tensor.grad.numpy() for tensor in tensors)])
    for result in results[1:]:
        for again, first in zip(result, results[0], strict=True):
            assert again.tobytes() == first.tobytes()


def test_a_plan_follows_the_routing(device: Device) -> None:
    """Which experts are chosen is data: one plan serves every step."""
    for rows in (1, 21):
        arrays = inputs(rows, 12, 16, 5)
        tensors = [Tensor.from_numpy(array) for array in arrays]
        with device.recording() as tape:
            out = ops.moe(*tensors, 2, normalize=True)
        plan = run(tape.compile(outputs=[out.region], label="moe"))
        for step in range(3):
            logits = np.roll(arrays[1], step, axis=1)
            device.write(tensors[1].region, logits)
            run(device.flush())
            data = run(device.replay([plan], readback=plan.outputs[0]))
            received = np.frombuffer(data, np.float32).reshape(out.shape)
            assert_close(received, expected([arrays[0], logits, *arrays[2:]], top_k=2,
                                            normalize=True), 2e-5, f"step {step}")
        plan.release()


@pytest.mark.parametrize(("shapes", "top_k", "words"), [
    (((5, 8), (5, 4), (4, 8, 8), (4, 8, 4)), 5, "at most all"),
    (((5, 8), (5, 4), (4, 8, 8), (4, 8, 4)), 0, "at least one"),
    (((5, 8), (4, 4), (4, 8, 8), (4, 8, 4)), 2, "do not fit"),
    (((5, 8), (5, 4), (4, 8, 8), (4, 4, 8)), 2, "do not fit")])
def test_shapes_that_do_not_fit(device: Device, shapes: tuple[tuple[int, ...], ...], top_k: int,
                                words: str) -> None:
    tensors = [Tensor.from_numpy(np.zeros(shape, np.float32)) for shape in shapes]
    with pytest.raises(ShapeError, match=words):
        ops.moe(*tensors, top_k, normalize=True)
