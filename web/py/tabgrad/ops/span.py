"""Where a run of rows stands in a sequence: data of a plan, not part of it."""

from __future__ import annotations

from tabgrad.errors import ShapeError
from tabgrad.gpu.storage import Region
from tabgrad.ops.embedding import require_ids
from tabgrad.tensor import ITEM_BYTES, Tensor


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
