"""Attention of new positions against a cache of the keys and values before them."""

from __future__ import annotations

from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import is_called, runs_on_cpu
from tabgrad.gpu.device import current_device
from tabgrad.ops.attention import head_size, scale_of, seen_pairs, unrolls
from tabgrad.ops.span import span_region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.platform.gpu_protocol import AdapterInfo
from tabgrad.tensor import ITEM_BYTES, Tensor

LANES = 4  # SwiftShader computes four threads at once
VECTOR_OF_LANES = 4 * LANES  # channels that four lanes load as vectors of four
WIDEST = 512  # channels of four heads lie in workgroup memory, with the scores
MOST_HEADS = 4  # that attention_decode_lanes unrolls
MOST_SHARED_NUMBERS = 3840  # SPLITS D numbers lie in workgroup memory: 15 of its 16 KiB


def attention_cached_spec(qkv: Shape, cache: Shape, query_heads: int, key_value_heads: int,
                          window: int = 0) -> Spec:
    """qkv (T, (HQ + 2 HK) D), cache (R, 2 HK D) -> (T, HQ D).

    The operations are those of the last T of R positions.

    Example:
        >>> attention_cached_spec((16, 3 * 128), (256, 2 * 128), 4, 4).shape
        (16, 128)

    Raises:
        ShapeError: another rank, heads that do not fit, or a cache of another width.
    """
    if len(qkv) != 2:
        raise ShapeError("attention_cached: rows of one sequence.",
                         expected="(T, (HQ + 2 HK) D)", received=str(qkv))
    head = head_size("attention_cached", qkv[1], query_heads, key_value_heads)
    width = 2 * key_value_heads * head
    if len(cache) != 2 or cache[1] != width:
        raise ShapeError("attention_cached: the cache has the keys and values of each position.",
                         expected=f"(R, {width})", received=str(cache))
    pairs = seen_pairs(max(0, cache[0] - qkv[0]), qkv[0], window)
    channels = query_heads * head
    return spec_of((qkv[0], channels), [qkv, cache], flops=4 * pairs * channels)


def attention_cached(qkv: Tensor, cache: Tensor, span: Tensor, query_heads: int,
                     key_value_heads: int | None = None, *, scale: float | None = None,
                     window: int = 0) -> Tensor:
    """Writes the keys and values of new positions into the cache, then softmax(scale q kᵀ) v.

    Row t has the position p = span[0] + t, and its keys and values go to row p % R of the cache.
    It sees p - window + 1 to p (0 to p without a window), as far as the cache still holds them.

    Args:
        qkv: (T, (HQ + 2 HK) D) float32, consecutive positions of one sequence.
        cache: (R, 2 HK D) float32, for each position its key heads, then its value heads; changed
            in place. R is at least the number of all positions, or at least window + T - 1.
        span: (2) uint32: [0] the position of row 0, [1] how many rows count. The others are
            padding: they are not written, and their results are zero. With T = 1 only span[0] is
            read. Data, not part of a plan.
        query_heads: HQ.
        key_value_heads: HK, a divisor of HQ; HQ if None. Query head h reads key head h HK // HQ.
        scale: of the scores; 1 / sqrt(D) if None.
        window: positions that one sees, itself with them; 0 for all.

    Returns:
        (T, HQ D) float32. There is no backward.

    Raises:
        ShapeError: shapes that do not fit, a D that is not a multiple of four, or a window
            below 0.
    """
    key_value_heads = query_heads if key_value_heads is None else key_value_heads
    spec = attention_cached_spec(qkv.shape, cache.shape, query_heads, key_value_heads, window)
    require_float32("attention_cached", qkv, cache)
    rows, head = qkv.shape[0], spec.shape[1] // query_heads
    out = Tensor.empty(spec.shape, label="attention_cached")
    heads = {"R": cache.shape[0], "HQ": query_heads, "HK": key_value_heads}
    sizes = {**heads, "SCALE": scale_of(scale, head), "WINDOW": window}
    at = span_region("attention_cached", span)
    device = current_device()
    if rows == 1:
        kernel, consts = _decode_kernel(head, query_heads, key_value_heads, device.info)
        device.launch(kernel, sizes, consts, flops=spec.flops, out=out.region, cache=cache.region,
                      qkv=qkv.region, span=at.part(0, ITEM_BYTES))
        return out
    # Two dispatches: the workgroups of one cannot see what the others write.
    device.launch("attention_append", {"T": rows, **heads, "D": head}, cache=cache.region,
                  qkv=qkv.region, span=at)
    kernel, consts = _prefill_kernel(head, device.info)
    device.launch(kernel, {"T": rows, **sizes}, consts, flops=spec.flops, out=out.region,
                  cache=cache.region, qkv=qkv.region, span=at)
    return out


def _prefill_kernel(head: int, info: AdapterInfo) -> tuple[str, dict[str, int]]:
    """The kernel for several positions, and its consts."""
    if unrolls(head, info):
        return "attention_cached_unrolled", {"D": head}
    if _takes_lanes(head, info):
        return "attention_cached_lanes", {"D": head, **_lanes(head)}
    return "attention_cached", {"D": head}


def _decode_kernel(head: int, query_heads: int, key_value_heads: int,
                   info: AdapterInfo) -> tuple[str, dict[str, int]]:
    """The kernel for one position, and its consts."""
    if _takes_lanes(head, info):
        heads = _heads_of_a_workgroup(query_heads // key_value_heads, key_value_heads)
        return "attention_decode_lanes", {"D": head, "HEADS": heads, **_lanes(head)}
    return "attention_decode", {"D": head, "SPLITS": _splits(head, runs_on_cpu(info))}


def _takes_lanes(head: int, info: AdapterInfo) -> bool:
    """Whether lanes share the channels: 2 to 5 times as fast on SwiftShader, and half as fast on
    lavapipe (numbers in the kernels' headers)."""
    return is_called(info, "swiftshader") and head % VECTOR_OF_LANES == 0 and head <= WIDEST


def _lanes(head: int) -> dict[str, int]:
    """How the lanes share D channels: as many in registers as fit.

    Example:
        >>> [_lanes(head)["SHARE"] for head in (16, 32, 64, 80, 96, 256)]
        [4, 8, 16, 4, 12, 16]
    """
    share = next(share for share in (16, 12, 8, 4) if head % (LANES * share) == 0)
    return {"LANES": LANES, "SHARE": share}


def _heads_of_a_workgroup(group: int, key_value_heads: int) -> int:
    """How many of a key head's query heads share its loads: all up to four, unless one workgroup
    would then do everything on one core.

    Example:
        >>> [_heads_of_a_workgroup(*case) for case in [(3, 3), (8, 2), (6, 2), (4, 1), (1, 1)]]
        [3, 4, 3, 2, 1]
    """
    workgroups = -(-group // MOST_HEADS)
    if key_value_heads == 1 and group > 1:
        workgroups = max(workgroups, 2)
    return -(-group // workgroups)


def _splits(head: int, cpu: bool) -> int:
    """Threads of one head: as many as fit, in powers of two; few on a CPU."""
    splits = 8 if cpu else 64
    while splits * head > MOST_SHARED_NUMBERS:
        splits //= 2
    if splits < 1:
        raise ShapeError("attention_cached: a head is too wide.",
                         expected=f"at most {MOST_SHARED_NUMBERS} channels", received=str(head))
    return splits
