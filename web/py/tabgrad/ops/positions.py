"""Positions of a run of rows whose start is data: what learned positions are looked up by."""

from __future__ import annotations

from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.ops.embedding import require_ids
from tabgrad.ops.spec import Shape, Spec
from tabgrad.tensor import ITEM_BYTES, Tensor


def positions_spec(span: Shape, count: int) -> Spec:
    """span (1 or more) -> (1, count).

    Example:
        >>> positions_spec((2,), 5).shape
        (1, 5)

    Raises:
        ShapeError: no span, or no rows.
    """
    if len(span) != 1 or count < 1:
        raise ShapeError("positions: the span is a list, and there is at least one row.",
                         expected="(2) and 1 or more", received=f"{span} and {count}")
    return Spec((1, count), "uint32", 0, ITEM_BYTES * count)


def positions(span: Tensor, count: int, limit: int) -> Tensor:
    """span[0], span[0] + 1, ...: none of them above `limit` - 1, where padding would reach.

    Args:
        span: uint32, whose first number is the position of the first row.
        count: T, rows.
        limit: positions that there are.

    Returns:
        (1, T) uint32.

    Raises:
        ShapeError: a span of another dtype, or no rows.
    """
    spec = positions_spec(span.shape, count)
    require_ids("positions", span)
    out = Tensor.empty(spec.shape, "uint32", label="positions")
    current_device().launch("positions", {"COUNT": count, "LIMIT": limit}, out=out.region,
                            start=span.region.part(0, ITEM_BYTES))
    return out
