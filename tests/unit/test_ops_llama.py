"""The ops of Llama-like decoders, forward and backward, against PyTorch float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tabgrad import ops
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.nn.arena import ParameterArena
from tabgrad.nn.attention import Attention
from tabgrad.tensor import Tensor
from tests.helpers import opened, run
from tests.unit.check_op import assert_close, check_op


@pytest.fixture(params=["webgpu", "numpy"], autouse=True)
def each_device(request: pytest.FixtureRequest) -> None:
    opened(request.param)


def x(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def leaf(*shape: int) -> Tensor:
    return Tensor.from_numpy(x(*shape))


def torch_rmsnorm(a: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6,
                  offset: float = 0.0) -> torch.Tensor:
    return torch.nn.functional.rms_norm(a, a.shape[-1:], offset + weight, eps)


@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(1, 2), (7, 129), (67, 31), (2, 3, 5), (4, 64, 128), (13,),
                                   (301, 70), (5, 1)])
def test_rmsnorm(shape: tuple[int, ...], offset: float) -> None:
    # A row of one or two numbers is nearly a step: its finite difference needs a larger eps.
    check_op(ops.rmsnorm, torch_rmsnorm, x(*shape), x(shape[-1], seed=1), offset=offset,
             eps=1.0 if shape[-1] <= 2 else 1e-6)


def test_rmsnorm_of_tiny_and_huge_rows() -> None:
    a = x(4, 33) * np.array([1e-6, 1.0, 1e3, 1e8], np.float32)[:, None]
    weight = x(33, seed=1)
    expected = torch_rmsnorm(torch.tensor(a, dtype=torch.float64), torch.tensor(weight).double())
    received = ops.rmsnorm(Tensor.from_numpy(a), Tensor.from_numpy(weight)).numpy()
    for row in range(4):
        assert_close(received[row], expected.numpy()[row], 1e-5, f"row {row}")


def torch_gated(gate_up: torch.Tensor, activation: str) -> torch.Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    functional = torch.nn.functional
    return up * (functional.silu(gate) if activation == "silu" else
                 functional.gelu(gate, approximate="tanh"))


@pytest.mark.parametrize("activation", ["silu", "gelu"])
@pytest.mark.parametrize("shape", [(2,), (1, 2), (7, 26), (2, 3, 2 * 129), (31, 2 * 67),
                                   (16, 256)])
def test_gated(shape: tuple[int, ...], activation: str) -> None:
    check_op(ops.gated, torch_gated, x(*shape), activation=activation)


VECTORS = [(), (1,), (7,), (2, 3, 129), (1031,)]


@pytest.mark.parametrize("shape", VECTORS)
def test_silu(shape: tuple[int, ...]) -> None:
    check_op(ops.silu, torch.nn.functional.silu, x(*shape))


@pytest.mark.parametrize("shape", VECTORS)
def test_gelu_exact(shape: tuple[int, ...]) -> None:
    check_op(ops.gelu_exact, torch.nn.functional.gelu, x(*shape, scale=2.0))


@pytest.mark.parametrize("shape", VECTORS)
def test_sigmoid_gate(shape: tuple[int, ...]) -> None:
    check_op(ops.sigmoid_gate, lambda a, gate: a * torch.sigmoid(gate), x(*shape),
             x(*shape, seed=1))


def test_sigmoid_gate_of_itself() -> None:
    check_op(lambda a: ops.sigmoid_gate(a, a), torch.nn.functional.silu, x(1031))


@pytest.mark.parametrize("cap", [0.75, 30.0])
@pytest.mark.parametrize("shape", VECTORS)
def test_softcap(shape: tuple[int, ...], cap: float) -> None:
    check_op(ops.softcap, lambda a, cap: cap * torch.tanh(a / cap), x(*shape, scale=0.5 * cap),
             cap=cap)


FAR = np.array([-3e38, -1e4, -90.0, -88.0, 88.0, 90.0, 1e4, 3e38], np.float32)


@pytest.mark.parametrize(("op", "oracle"), [
    (ops.silu, torch.nn.functional.silu),
    (ops.gelu_exact, torch.nn.functional.gelu),
    (lambda a: ops.softcap(a, 30.0), lambda a: 30 * torch.tanh(a / 30)),
    (lambda a: ops.sigmoid_gate(leaf(8), a), lambda a: torch.tensor(x(8)) * torch.sigmoid(a)),
])
def test_far_out_nothing_overflows(op: Callable[[Tensor], Tensor],
                                   oracle: Callable[[torch.Tensor], torch.Tensor]) -> None:
    a = Tensor.from_numpy(FAR, requires_grad=True)
    out = op(a)
    out.sum().backward()
    twin = torch.tensor(FAR.astype(np.float64), requires_grad=True)
    expected = oracle(twin)
    expected.sum().backward()
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-30)
    np.testing.assert_allclose(a.grad.numpy(), twin.grad.numpy(), rtol=1e-5, atol=1e-30)


def angles_table(rows: int, channels: int) -> np.ndarray:
    """(R, r): cosines, then sines, of random angles, all times 1.25 as with YaRN."""
    angles = x(rows, channels // 2, seed=5, scale=3.0)
    return (1.25 * np.concatenate([np.cos(angles), np.sin(angles)], axis=1)).astype(np.float32)


def torch_rotary(qkv: torch.Tensor, query_norm: torch.Tensor | None = None,
                 key_norm: torch.Tensor | None = None, *, table: np.ndarray | None, HQ: int,
                 HK: int, first: int = 0, eps: float = 1e-6, offset: float = 0.0) -> torch.Tensor:
    """The rotation as Transformers writes it: x cos + rotate_half(x) sin."""
    heads = qkv.unflatten(-1, (HQ + 2 * HK, -1))
    q, k, v = heads.split([HQ, HK, HK], dim=-2)
    if query_norm is not None:
        q, k = torch_rmsnorm(q, query_norm, eps, offset), torch_rmsnorm(k, key_norm, eps, offset)
    if table is not None:
        rows = torch.tensor(table[first:first + qkv.shape[-2], None]).double()
        cos, sin = (torch.cat([part, part], dim=-1) for part in rows.chunk(2, dim=-1))
        q, k = (torch_turn(part, cos, sin) for part in (q, k))
    return torch.cat([q, k, v], dim=-2).flatten(-2)


def torch_turn(heads: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    channels = cos.shape[-1]
    turning, rest = heads[..., :channels], heads[..., channels:]
    a, b = turning.chunk(2, dim=-1)
    return torch.cat([turning * cos + torch.cat([-b, a], dim=-1) * sin, rest], dim=-1)


# B, T, HQ, HK, D, r: one of each, primes, grouped heads, partial turns, heads of an odd size.
ROTARY = [(1, 1, 1, 1, 2, 2), (2, 13, 4, 2, 20, 10), (1, 37, 3, 1, 64, 64), (3, 5, 2, 2, 7, 6),
          (2, 17, 6, 3, 32, 8), (1, 67, 1, 1, 129, 128)]


def leaves(*arrays: np.ndarray) -> list[Tensor]:
    return [Tensor.from_numpy(array) for array in arrays]


@pytest.mark.parametrize(("B", "T", "HQ", "HK", "D", "r"), ROTARY)
def test_rotary(B: int, T: int, HQ: int, HK: int, D: int, r: int) -> None:
    table = angles_table(T + 3, r)
    check_op(lambda qkv: ops.rotary(qkv, Tensor.from_numpy(table), HQ, HK),
             lambda qkv: torch_rotary(qkv, table=table, HQ=HQ, HK=HK), x(B, T, (HQ + 2 * HK) * D))


@pytest.mark.parametrize("turns", [True, False])
@pytest.mark.parametrize(("B", "T", "HQ", "HK", "D", "r"), ROTARY)
def test_rotary_with_norms(B: int, T: int, HQ: int, HK: int, D: int, r: int, turns: bool) -> None:
    table = angles_table(T, r) if turns else None
    eps = 1.0 if D == 2 else 1e-6  # two channels are nearly a step
    gains = x(D, seed=1), x(D, seed=2)
    for offset in (0.0, 1.0):
        check_op(lambda qkv, q, k, offset=offset: ops.rotary(
                     qkv, table if table is None else Tensor.from_numpy(table), HQ, HK,
                     query_norm=q, key_norm=k, eps=eps, norm_offset=offset),
                 lambda qkv, q, k, offset=offset: torch_rotary(
                     qkv, q, k, table=table, HQ=HQ, HK=HK, eps=eps, offset=offset),
                 x(B, T, (HQ + 2 * HK) * D), *gains)


@pytest.mark.parametrize("norms", [False, True])
def test_rotary_from_a_position_that_is_data(norms: bool) -> None:
    table, qkv = angles_table(40, 12), x(5, 4 * 20)
    gains = [x(20, seed=1), x(20, seed=2)] if norms else []
    for first in (0, 17, 35):
        expected = torch_rotary(*(torch.tensor(a).double() for a in (qkv, *gains)), table=table,
                                HQ=2, HK=1, first=first)
        norm = dict(zip(("query_norm", "key_norm"), leaves(*gains), strict=False))
        received = ops.rotary(*leaves(qkv, table), 2, 1,
                              span=Tensor.from_numpy(np.array([first, 3], np.uint32)), **norm)
        assert received.shape == qkv.shape
        assert_close(received.numpy(), expected.numpy(), 1e-5, f"first {first}")


def test_rotary_turns_back_from_a_position_that_is_data() -> None:
    table = angles_table(40, 12)
    span = np.array([9], np.uint32)
    check_op(lambda qkv, q, k: ops.rotary(qkv, Tensor.from_numpy(table), 2, 1,
                                          span=Tensor.from_numpy(span), query_norm=q, key_norm=k),
             lambda qkv, q, k: torch_rotary(qkv, q, k, table=table, HQ=2, HK=1, first=9),
             x(2, 5, 4 * 20), x(20, seed=1), x(20, seed=2))


def test_rotary_in_a_plan_reads_the_position_of_each_replay() -> None:
    device = current_device()
    table, qkv = angles_table(40, 16), x(1, 4 * 16)
    inputs, span = leaves(qkv, table), Tensor.from_numpy(np.zeros(2, np.uint32))
    with device.recording() as tape:
        out = ops.rotary(*inputs, 2, 1, span=span)
    plan = run(tape.compile(outputs=[out.region], label="rotary"))
    for first in (0, 3, 31):
        device.write(span.region, np.array([first, 1], np.uint32).tobytes())
        run(device.flush())
        run(device.replay([plan]))
        received = np.frombuffer(run(device.read(plan.outputs[0])), np.float32).reshape(qkv.shape)
        expected = torch_rotary(torch.tensor(qkv).double(), table=table, HQ=2, HK=1, first=first)
        assert_close(received, expected.numpy(), 1e-5, f"first {first}")
    plan.release()


def test_heads_that_attention_pads_are_normalised_and_turned_before() -> None:
    HQ, HK, D = 2, 1, 6
    layer = Attention(10, HQ, HK, head_dim=D, bias=False, output_bias=False, qk_norm=(1e-6, 1.0))
    ParameterArena(layer, current_device())  # draws the weights
    table, a = angles_table(5, D), x(1, 5, 10)
    weights = {name: torch.tensor(parameter.numpy()).double()
               for name, parameter in layer.named_parameters()}
    projected = [torch.tensor(a).double() @ weights[f"{name}.weight"].T
                 for name in ("q_proj", "k_proj", "v_proj")]
    qkv = torch_rotary(torch.cat(projected, dim=-1), weights["q_norm.weight"],
                       weights["k_norm.weight"], table=table, HQ=HQ, HK=HK, offset=1.0)
    q, k, v = qkv.unflatten(-1, (-1, D)).transpose(1, 2).split([HQ, HK, HK], dim=1)
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True,
                                                             enable_gqa=True)
    expected = mixed.transpose(1, 2).flatten(2) @ weights["o_proj.weight"].T
    received = layer(Tensor.from_numpy(a), table=Tensor.from_numpy(table))
    assert_close(received.numpy(), expected.numpy(), 1e-5, "attention")


@pytest.mark.parametrize("call", [
    lambda: ops.rmsnorm(leaf(2, 5), leaf(4)),
    lambda: ops.rmsnorm(leaf(2, 5), leaf(1, 5)),
    lambda: ops.gated(leaf(2, 5), "silu"),
    lambda: ops.gated(leaf(2, 6), "relu"),
    lambda: ops.sigmoid_gate(leaf(2, 5), leaf(5)),
    lambda: ops.softcap(leaf(5), 0.0),
    lambda: ops.rotary(leaf(2, 25), leaf(2, 4), 2, 1),
    lambda: ops.rotary(leaf(24), leaf(2, 4), 2, 1),
    lambda: ops.rotary(leaf(2, 24), leaf(1, 4), 2, 1),
    lambda: ops.rotary(leaf(2, 24), leaf(2, 3), 2, 1),
    lambda: ops.rotary(leaf(2, 24), leaf(2, 8), 2, 1),
    lambda: ops.rotary(leaf(2, 24), None, 2, 1),
    lambda: ops.rotary(leaf(2, 24), None, 2, 1, query_norm=leaf(6)),
    lambda: ops.rotary(leaf(2, 24), None, 2, 1, query_norm=leaf(6), key_norm=leaf(5)),
    lambda: ops.rotary(leaf(2, 24), leaf(2, 4), 2, 1, span=leaf(2)),
])
def test_shapes_that_do_not_fit(call: Callable[[], Tensor]) -> None:
    with pytest.raises(ShapeError) as error:
        call()
    assert error.value.received is not None
