"""Subtraction; the second operand may be the last axes of the first."""

from __future__ import annotations

from tabgrad.ops.add import add_scaled
from tabgrad.ops.spec import Shape, Spec, require_suffix, spec_of
from tabgrad.tensor import Tensor, element_count


def sub_spec(a: Shape, b: Shape) -> Spec:
    """(..., *b) - b -> (..., *b).

    Example:
        >>> sub_spec((2, 3), (3,)).flops
        6
    """
    require_suffix("sub", a, b)
    return spec_of(a, [a, b], flops=element_count(a))


def sub(a: Tensor, b: Tensor) -> Tensor:
    """a - b.

    Args:
        a: float32 of any shape.
        b: float32 of the same shape, or of its last axes; then it repeats over the others.

    Returns:
        float32 of a's shape.

    Raises:
        ShapeError: b is neither.
    """
    return add_scaled("sub", a, b, -1.0, sub_spec(a.shape, b.shape))
