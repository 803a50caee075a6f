"""The largest number of each row, by its column."""

from __future__ import annotations

from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_row
from tabgrad.gpu.device import current_device
from tabgrad.ops.spec import Shape, Spec, require_float32
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count

MOST_COLUMNS = 2**24


def argmax_spec(x: Shape) -> Spec:
    """(..., C) -> (...).

    Example:
        >>> argmax_spec((4, 64, 256)).shape
        (4, 64)

    Raises:
        ShapeError: no columns, or more than 2^24.
    """
    if not x or not 1 <= x[-1] <= MOST_COLUMNS:
        raise ShapeError("argmax: the last axis has the numbers to choose from.",
                         expected=f"(..., C) with C from 1 to {MOST_COLUMNS}", received=str(x))
    count = element_count(x)
    return Spec(x[:-1], "uint32", count, ITEM_BYTES * (count + element_count(x[:-1])))


def argmax(x: Tensor) -> Tensor:
    """The column of the largest number of each row; of equal ones the first.

    Args:
        x: (..., C) float32.

    Returns:
        (...) uint32. There is no backward.

    Raises:
        ShapeError: another dtype, no columns, or too many.
    """
    spec = argmax_spec(x.shape)
    require_float32("argmax", x)
    out = Tensor.empty(spec.shape, "uint32", label="argmax")
    device = current_device()
    device.launch("argmax", {"R": element_count(spec.shape), "C": x.shape[-1]},
                  {"LANES": lanes_of_a_row(device.info, x.shape[-1])}, flops=spec.flops,
                  out=out.region, x=x.region)
    return out
