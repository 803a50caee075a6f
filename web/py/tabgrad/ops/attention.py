"""Causal attention over packed queries, keys and values."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.platform.gpu_protocol import AdapterInfo
from tabgrad.tensor import ITEM_BYTES, Tensor

VECTOR = 4  # the kernels read four channels at a time
UNROLLED = (16, 32, 48, 64)  # sizes of a head for which there are kernels for CPU adapters


def head_size(op: str, packed: int, query_heads: int, key_value_heads: int) -> int:
    """D, from the width of packed queries, keys and values.

    Example:
        >>> head_size("attention", (4 + 2 * 2) * 32, query_heads=4, key_value_heads=2)
        32

    Raises:
        ShapeError: heads that do not divide, or a D that is not a multiple of four.
    """
    heads = query_heads + 2 * key_value_heads
    if key_value_heads < 1 or query_heads < 1 or query_heads % key_value_heads:
        raise ShapeError(f"{op}: each key head serves the same number of query heads.",
                         expected="query heads that are a multiple of the key heads",
                         received=f"{query_heads} and {key_value_heads}")
    if packed % (heads * VECTOR):
        raise ShapeError(f"{op}: a head has a multiple of {VECTOR} channels.",
                         expected=f"a last axis of {heads} heads, a multiple of {heads * VECTOR}",
                         received=str(packed))
    return packed // heads


def _unrolls(head: int, info: AdapterInfo) -> bool:
    """Whether to take the kernels that keep four rows in registers: 2 to 6 times as fast on a
    CPU (numbers in their headers), too many registers for a GPU."""
    return runs_on_cpu(info) and head in UNROLLED


def attention_spec(qkv: Shape, query_heads: int, key_value_heads: int) -> Spec:
    """(B, T, (HQ + 2 HK) D) -> (B, T, HQ D).

    Example:
        >>> attention_spec((4, 64, 3 * 128), query_heads=4, key_value_heads=4).shape
        (4, 64, 128)

    Raises:
        ShapeError: another rank, or heads that do not fit the last axis.
    """
    if len(qkv) != 3:
        raise ShapeError("attention: queries, keys and values are packed into one tensor.",
                         expected="(B, T, (HQ + 2 HK) D)", received=str(qkv))
    batch, time, packed = qkv
    channels = query_heads * head_size("attention", packed, query_heads, key_value_heads)
    return spec_of((batch, time, channels), [qkv], flops=2 * batch * time * (time + 1) * channels)


def attention(qkv: Tensor, query_heads: int, key_value_heads: int | None = None) -> Tensor:
    """softmax(q kᵀ / sqrt(D)) v per head, each position over itself and those before it.

    Args:
        qkv: (B, T, (HQ + 2 HK) D) float32: query heads, then key heads, then value heads.
        query_heads: HQ.
        key_value_heads: HK, a divisor of HQ; HQ if None. Query head h reads key head h HK // HQ.

    Returns:
        (B, T, HQ D) float32.

    Raises:
        ShapeError: shapes that do not fit, or a D that is not a multiple of four.

    Source: Vaswani et al., "Attention is all you need", 2017; the softmax is online and the
    backward starts from the log-sum-exp, as in Dao et al., "FlashAttention", 2022.
    """
    key_value_heads = query_heads if key_value_heads is None else key_value_heads
    spec = attention_spec(qkv.shape, query_heads, key_value_heads)
    require_float32("attention", qkv)
    device = current_device()
    batch, time, packed = qkv.shape
    sizes = {"B": batch, "T": time, "HQ": query_heads, "HK": key_value_heads}
    head = head_size("attention", packed, query_heads, key_value_heads)
    out = Tensor.empty(spec.shape, label="attention")
    lse = device.temporary(batch * query_heads * time * ITEM_BYTES, "log-sum-exp")
    if _unrolls(head, device.info):
        kernel, consts = "attention_forward_unrolled", {"D": head}
    else:
        kernel, consts = "attention_forward", {"D": head, "ROWS": 1}
    device.launch(kernel, sizes, consts, flops=spec.flops, out=out.region, lse=lse,
                  qkv=qkv.region)
    return track(out, "attention", _attention_backward, [qkv], out=out.region, lse=lse,
                 sizes=sizes, head=head, flops=spec.flops)


def _attention_backward(record: OpRecord, gradient: Region) -> None:
    """p = exp(s - lse), ds = p (dout vᵀ - dout . out): dq = ds k, dk = dsᵀ q, dv = pᵀ dout."""
    target = sink(record, 0)
    if target is None:
        return
    region, accumulate = target
    device = current_device()
    saved = record.attributes
    qkv, lse = record.inputs[0].region, saved["lse"]
    delta = device.temporary(lse.size, "attention delta")
    sizes = {**saved["sizes"], "ACCUMULATE": int(accumulate)}
    consts = {"D": saved["head"]}
    suffix = "_unrolled" if _unrolls(saved["head"], device.info) else ""
    device.launch(f"attention_backward_query{suffix}", sizes, consts, flops=saved["flops"] * 3 // 2,
                  dqkv=region, delta=delta, qkv=qkv, out=saved["out"], lse=lse, dout=gradient)
    device.launch(f"attention_backward_key_value{suffix}", sizes, consts, flops=saved["flops"] * 2,
                  dqkv=region, qkv=qkv, lse=lse, delta=delta, dout=gradient)
