"""Causal attention over packed queries, keys and values."""

from __future__ import annotations

import numpy as np

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.ops.starts import starts_region
from tabgrad.platform.gpu_protocol import AdapterInfo
from tabgrad.tensor import ITEM_BYTES, Tensor

VECTOR = 4  # the kernels read four channels at a time
MOST_POSITIONS = 2**31  # so that position + window is a u32
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


def unrolls(head: int, info: AdapterInfo) -> bool:
    """Whether to take the kernels that keep four rows in registers: 2 to 6 times as fast on a
    CPU (numbers in their headers), too many registers for a GPU."""
    return runs_on_cpu(info) and head in UNROLLED


def scale_of(scale: float | None, head: int) -> float:
    """The scale of the scores, rounded to float32: 1 / sqrt(D) if None.

    Example:
        >>> scale_of(None, 64), scale_of(0.5, 64)
        (0.125, 0.5)
    """
    if scale is None:
        return float(np.float32(1) / np.sqrt(np.float32(head)))
    return float(np.float32(scale))


def seen_pairs(first: int, rows: int, window: int) -> int:
    """How many (query, key) pairs the positions first, ..., first + rows - 1 make.

    Example:
        >>> seen_pairs(0, 4, window=0), seen_pairs(0, 4, window=2), seen_pairs(10, 1, window=0)
        (10, 7, 11)

    Raises:
        ShapeError: a window below 0, or one that is no 31-bit number.
    """
    if not 0 <= window < MOST_POSITIONS:
        raise ShapeError("attention: the window is the number of positions that one sees.",
                         expected=f"0 (all) to {MOST_POSITIONS - 1}", received=str(window))
    width = window or MOST_POSITIONS
    short = max(0, min(rows, width - first))  # rows that still see everything before them
    return short * (2 * first + short + 1) // 2 + (rows - short) * width


def attention_spec(qkv: Shape, query_heads: int, key_value_heads: int, window: int = 0) -> Spec:
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
    pairs = seen_pairs(0, time, window)
    return spec_of((batch, time, channels), [qkv], flops=4 * batch * pairs * channels)


def attention(qkv: Tensor, query_heads: int, key_value_heads: int | None = None, *,
              scale: float | None = None, window: int = 0,
              starts: Tensor | None = None) -> Tensor:
    """softmax(scale q kᵀ) v per head, each position over itself and those before it.

    Args:
        qkv: (B, T, (HQ + 2 HK) D) float32: query heads, then key heads, then value heads.
        query_heads: HQ.
        key_value_heads: HK, a divisor of HQ; HQ if None. Query head h reads key head h HK // HQ.
        scale: of the scores; 1 / sqrt(D) if None.
        window: W above 0: position t sees t - W + 1 to t only; 0: all before it.
        starts: (B, T) uint32, for rows of several documents: position t sees starts[b, t] to t,
            as far as the window goes. They do not fall along a row. None: it sees from 0 on.

    Returns:
        (B, T, HQ D) float32.

    Raises:
        ShapeError: shapes that do not fit, a D that is not a multiple of four, or a window
            below 0.

    Source: Vaswani et al., "Attention is all you need", 2017; the softmax is online and the
    backward starts from the log-sum-exp, as in Dao et al., "FlashAttention", 2022.
    """
    key_value_heads = query_heads if key_value_heads is None else key_value_heads
    spec = attention_spec(qkv.shape, query_heads, key_value_heads, window)
    require_float32("attention", qkv)
    device = current_device()
    batch, time, packed = qkv.shape
    head = head_size("attention", packed, query_heads, key_value_heads)
    sizes = {"B": batch, "T": time, "HQ": query_heads, "HK": key_value_heads,
             "SCALE": scale_of(scale, head), "WINDOW": window}
    begins, several = starts_region("attention", starts, (batch, time))
    out = Tensor.empty(spec.shape, label="attention")
    lse = device.temporary(batch * query_heads * time * ITEM_BYTES, "log-sum-exp")
    if unrolls(head, device.info):
        kernel, consts = "attention_forward_unrolled", {"D": head}
    else:
        kernel, consts = "attention_forward", {"D": head, "ROWS": 1}
    device.launch(kernel, sizes, consts | several, flops=spec.flops, out=out.region, lse=lse,
                  qkv=qkv.region, starts=begins)
    return track(out, "attention", _attention_backward, [qkv], out=out.region, lse=lse,
                 sizes=sizes, consts={"D": head} | several, flops=spec.flops, starts=begins)


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
    consts, starts = saved["consts"], saved["starts"]
    suffix = "_unrolled" if unrolls(consts["D"], device.info) else ""
    device.launch(f"attention_backward_query{suffix}", sizes, consts, flops=saved["flops"] * 3 // 2,
                  dqkv=region, delta=delta, qkv=qkv, out=saved["out"], lse=lse, dout=gradient,
                  starts=starts)
    device.launch(f"attention_backward_key_value{suffix}", sizes, consts, flops=saved["flops"] * 2,
                  dqkv=region, qkv=qkv, lse=lse, delta=delta, dout=gradient,
                  starts=starts)
