"""Where a run of rows stands in a sequence: data of a plan, not part of it."""

from __future__ import annotations

import weakref

import numpy as np

from tabgrad.errors import ShapeError
from tabgrad.gpu.device import Device, current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.embedding import require_ids
from tabgrad.tensor import ITEM_BYTES, Tensor

_whole: weakref.WeakKeyDictionary[Device, dict[int, Region]] = weakref.WeakKeyDictionary()


def span_region(op: str, span: Tensor) -> Region:
    """The two numbers of a span: position of row 0, and rows that count.

    Raises:
        ShapeError: fewer than two numbers, or another dtype.
    """
    require_ids(op, span)
    if span.size < 2:
        raise ShapeError(f"{op}: the span says where the rows stand.",
                         expected="(2): position of row 0, rows that count",
                         received=str(span.shape))
    return span.region.part(0, 2 * ITEM_BYTES)


def whole_span(rows: int) -> Region:
    """The span of a whole sequence, (0, rows), on this device: written once for each length."""
    device = current_device()
    spans = _whole.setdefault(device, {})
    if rows not in spans:
        spans[rows] = Region(device.allocate(2 * ITEM_BYTES, "whole span"), 0, 2 * ITEM_BYTES)
        device.write(spans[rows], np.array([0, rows], np.uint32).tobytes())
    return spans[rows]
