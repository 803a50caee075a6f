"""Positions inside the documents of packed rows: what learned positions are looked up by."""

from __future__ import annotations

from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.ops.embedding import require_ids
from tabgrad.ops.spec import Shape, Spec
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


def document_positions_spec(starts: Shape) -> Spec:
    """(B, T) -> (B, T).

    Example:
        >>> document_positions_spec((2, 64)).shape
        (2, 64)

    Raises:
        ShapeError: another rank.
    """
    if len(starts) != 2:
        raise ShapeError("document_positions: every position of a batch has a start.",
                         expected="(B, T)", received=str(starts))
    return Spec(starts, "uint32", 0, 2 * ITEM_BYTES * element_count(starts))


def document_positions(starts: Tensor) -> Tensor:
    """t - starts[b, t]: 0 where a document begins.

    Args:
        starts: (B, T) uint32, the first position of each one's document.

    Returns:
        (B, T) uint32.

    Raises:
        ShapeError: another rank or dtype.
    """
    spec = document_positions_spec(starts.shape)
    require_ids("document_positions", starts)
    out = Tensor.empty(spec.shape, "uint32", label="document_positions")
    batch, time = spec.shape
    current_device().launch("document_positions", {"B": batch, "T": time}, out=out.region,
                            starts=starts.region)
    return out
