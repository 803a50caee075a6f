"""Attention of one new position against a cache of all before it."""

from __future__ import annotations

from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.device import current_device
from tabgrad.ops.attention import head_size
from tabgrad.ops.embedding import require_ids
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count

MOST_SHARED_NUMBERS = 3840  # SPLITS D numbers lie in workgroup memory: 15 of its 16 KiB


def attention_decode_spec(qkv: Shape, cache: Shape, query_heads: int,
                          key_value_heads: int) -> Spec:
    """qkv (..., (HQ + 2 HK) D) with one row, cache (S, 2 HK D) -> (..., HQ D).

    Example:
        >>> attention_decode_spec((1, 3 * 128), (256, 2 * 128), 4, 4).shape
        (1, 128)

    Raises:
        ShapeError: more than one row, or a cache of another width.
    """
    if not qkv or element_count(qkv[:-1]) != 1:
        raise ShapeError("attention_decode: one position at a time.",
                         expected="(1, (HQ + 2 HK) D)", received=str(qkv))
    head = head_size("attention_decode", qkv[-1], query_heads, key_value_heads)
    width = 2 * key_value_heads * head
    if len(cache) != 2 or cache[1] != width:
        raise ShapeError("attention_decode: the cache has the keys and values of each position.",
                         expected=f"(S, {width})", received=str(cache))
    return spec_of((*qkv[:-1], query_heads * head), [qkv, cache],
                   flops=4 * cache[0] * query_heads * head)


def attention_decode(qkv: Tensor, cache: Tensor, position: Tensor, query_heads: int,
                     key_value_heads: int | None = None) -> Tensor:
    """Writes the keys and values into the cache at `position`, then attends to 0 .. position.

    Args:
        qkv: (..., (HQ + 2 HK) D) float32 of one position.
        cache: (S, 2 HK D) float32, key heads then value heads of each position; changed in place.
        position: uint32, whose first number, below S, is the position: data, not part of a plan.
        query_heads: HQ.
        key_value_heads: HK; HQ if None.

    Returns:
        (..., HQ D) float32. There is no backward.

    Raises:
        ShapeError: shapes that do not fit.
    """
    key_value_heads = query_heads if key_value_heads is None else key_value_heads
    spec = attention_decode_spec(qkv.shape, cache.shape, query_heads, key_value_heads)
    require_float32("attention_decode", qkv, cache)
    require_ids("attention_decode", position)
    device = current_device()
    head = spec.shape[-1] // query_heads
    out = Tensor.empty(spec.shape, label="attention_decode")
    sizes = {"S": cache.shape[0], "HQ": query_heads, "HK": key_value_heads}
    device.launch("attention_decode", sizes,
                  {"D": head, "SPLITS": _splits(head, runs_on_cpu(device.info))},
                  flops=spec.flops, out=out.region, cache=cache.region, qkv=qkv.region,
                  position=position.region.part(0, ITEM_BYTES))
    return out


def _splits(head: int, cpu: bool) -> int:
    """Threads of one head: as many as fit, in powers of two; few on a CPU."""
    splits = 8 if cpu else 64
    while splits * head > MOST_SHARED_NUMBERS:
        splits //= 2
    if splits < 1:
        raise ShapeError("attention_decode: a head is too wide.",
                         expected=f"at most {MOST_SHARED_NUMBERS} channels", received=str(head))
    return splits
