"""Rotary positions of packed queries and keys, and the RMS norm of each head before them."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_column, lanes_of_a_row
from tabgrad.gpu.device import Device, current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.embedding import require_ids
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count

_constants: weakref.WeakKeyDictionary[Device, tuple[Region, Region]] = weakref.WeakKeyDictionary()


def rotary_spec(qkv: Shape, table: Shape | None, query_heads: int, key_value_heads: int) -> Spec:
    """(..., T, (HQ + 2 HK) D), table (R, r) -> the same shape.

    Example:
        >>> rotary_spec((4, 64, 3 * 128), (64, 32), query_heads=4, key_value_heads=4).shape
        (4, 64, 384)

    Raises:
        ShapeError: heads that do not fit the last axis, or a table that does not fit a head.
    """
    heads = query_heads + 2 * key_value_heads
    if query_heads < 1 or key_value_heads < 1 or len(qkv) < 2 or qkv[-1] % heads:
        raise ShapeError("rotary: query, key and value heads are packed into one tensor.",
                         expected=f"(B, T, {heads} D)", received=str(qkv))
    head = qkv[-1] // heads
    if table is not None and (len(table) != 2 or table[1] % 2 or table[1] > head):
        raise ShapeError("rotary: the table does not fit the heads.",
                         expected=f"(R, r), an even r up to {head}", received=str(table))
    return spec_of(qkv, [qkv], flops=6 * element_count(qkv))


def rotary(qkv: Tensor, table: Tensor | None, query_heads: int, key_value_heads: int, *,
           span: Tensor | None = None, query_norm: Tensor | None = None,
           key_norm: Tensor | None = None, eps: float = 1e-6,
           norm_offset: float = 0.0) -> Tensor:
    """Turns the first r channels of every query and key head by its position.

    With y the head, or x / sqrt(mean(x²) + eps) * (norm_offset + gain) where gains are given:

        out[i] = y[i] cos - y[i + r/2] sin,  out[i + r/2] = y[i + r/2] cos + y[i] sin

    Value heads are copied.

    Args:
        qkv: (B, T, (HQ + 2 HK) D) float32, or without B: query heads, key heads, value heads.
        table: (R, r) float32: r / 2 cosines, then r / 2 sines, of each position; see
            `models.rotary.rotary_table`. None turns nothing.
        query_heads: HQ.
        key_value_heads: HK.
        span: uint32, whose first number is the position of row 0: data, not part of a plan.
            0 if None. Positions beyond the table take its last row.
        query_norm: (D) float32, the gain of query heads less `norm_offset`; both gains or none.
        key_norm: (D) float32, the gain of key heads.
        eps: added to the mean of the squares.
        norm_offset: added to the gains.

    Returns:
        float32 like qkv.

    Raises:
        ShapeError: shapes that do not fit, one gain without the other, or nothing to do.

    Source: Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021.
    """
    spec = rotary_spec(qkv.shape, None if table is None else table.shape, query_heads,
                       key_value_heads)
    require_float32("rotary", qkv, *([] if table is None else [table]))
    head = qkv.shape[-1] // (query_heads + 2 * key_value_heads)
    rows = qkv.shape[-2]
    if table is not None and span is None and table.shape[0] < rows:
        raise ShapeError("rotary: the table ends before the last position.",
                         expected=f"{rows} rows or more", received=str(table.shape[0]))
    device = current_device()
    at_zero, no_turn = _constants_of(device)
    if span is not None:
        require_ids("rotary", span)
    positions = at_zero if span is None else span.region.part(0, ITEM_BYTES)
    positions_of = {"table": no_turn if table is None else table.region, "span": positions}
    shape = (1, 2) if table is None else table.shape
    sizes = {"B": qkv.size // (rows * qkv.shape[-1]), "T": rows, "HQ": query_heads,
             "HK": key_value_heads, "D": head, "R": shape[0], "RD": shape[1]}
    out = Tensor.empty(spec.shape, label="rotary")
    saved = {"sizes": sizes, "positions": positions_of, "held": (table, span)}
    if query_norm is None and key_norm is None:
        if table is None:
            raise ShapeError("rotary: there is nothing to do.", expected="a table or two gains",
                             received="neither")
        _turn(out.region, qkv.region, 1.0, False, saved)
        return track(out, "rotary", _rotary_backward, [qkv], **saved)
    gains = _gains(query_norm, key_norm, head)
    rstd = device.temporary(_rstd_bytes(sizes), "rotary rstd")
    device.launch("rotary_norm_forward", {**sizes, "EPS": eps, "OFFSET": norm_offset},
                  {"LANES": lanes_of_a_row(device.info, head)}, flops=2 * spec.flops,
                  out=out.region, rstd=rstd, qkv=qkv.region, query_norm=gains[0].region,
                  key_norm=gains[1].region, **positions_of)
    return track(out, "rotary", _rotary_norm_backward, [qkv, *gains], rstd=rstd,
                 offset=norm_offset, **saved)


def _gains(query_norm: Tensor | None, key_norm: Tensor | None, head: int) -> list[Tensor]:
    """Both gains, each (D)."""
    gains = [gain for gain in (query_norm, key_norm) if gain is not None]
    if len(gains) != 2 or any(gain.shape != (head,) for gain in gains):
        raise ShapeError("rotary: queries and keys have a gain each, or neither has.",
                         expected=f"two gains of {(head,)}",
                         received=" and ".join(str(gain.shape) for gain in gains))
    require_float32("rotary", *gains)
    return gains


def _rstd_bytes(sizes: dict[str, int]) -> int:
    return sizes["B"] * sizes["T"] * (sizes["HQ"] + sizes["HK"]) * ITEM_BYTES


def _turn(out: Region, x: Region, direction: float, accumulate: bool,
          saved: dict[str, Any]) -> None:
    device = current_device()
    sizes = {**saved["sizes"], "DIRECTION": direction, "ACCUMULATE": int(accumulate)}
    device.launch("rotary", sizes, {"LANES": lanes_of_a_row(device.info, sizes["D"])},
                  flops=6 * out.size // ITEM_BYTES, out=out, qkv=x, **saved["positions"])


def _rotary_backward(record: OpRecord, gradient: Region) -> None:
    """The turn back."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        _turn(region, gradient, -1.0, accumulate, record.attributes)


def _rotary_norm_backward(record: OpRecord, gradient: Region) -> None:
    """dy is the turn back; dx = rstd (g - xhat mean(g xhat)), g = dy gain; dgain = sum dy xhat."""
    device = current_device()
    qkv, query_norm, key_norm = record.inputs
    saved = record.attributes
    sizes, positions = saved["sizes"], saved["positions"]
    shared = {"dout": gradient, "qkv": qkv.region, "rstd": saved["rstd"], **positions}
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        device.launch("rotary_norm_backward_input",
                      {**sizes, "OFFSET": saved["offset"], "ACCUMULATE": int(accumulate)},
                      {"LANES": lanes_of_a_row(device.info, sizes["D"])}, flops=18 * qkv.size,
                      dqkv=region, query_norm=query_norm.region, key_norm=key_norm.region,
                      **shared)
    for keys in (0, 1):
        target = sink(record, 1 + keys)
        if target is not None:
            region, accumulate = target
            device.launch("rotary_norm_backward_gain",
                          {**sizes, "KEYS": keys, "ACCUMULATE": int(accumulate)},
                          lanes_of_a_column(device.info), flops=4 * qkv.size, dgain=region,
                          **shared)


def _constants_of(device: Device) -> tuple[Region, Region]:
    """The position zero, and a table of one row that turns nothing: written once a device."""
    regions = _constants.get(device)
    if regions is None:
        zero = device.allocate(ITEM_BYTES, "position 0").region
        no_turn = device.allocate(2 * ITEM_BYTES, "no turn").region
        device.write(zero, np.zeros(1, np.uint32).tobytes())
        device.write(no_turn, np.array([1, 0], np.float32).tobytes())
        regions = _constants[device] = (zero, no_turn)
    return regions
