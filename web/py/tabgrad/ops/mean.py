"""The mean of all elements."""

from __future__ import annotations

from tabgrad.ops.spec import Shape, Spec
from tabgrad.ops.sum import scaled_sum, sum_spec
from tabgrad.tensor import Tensor


def mean_spec(x: Shape) -> Spec:
    """Any shape -> a scalar; it costs what a sum does.

    Example:
        >>> mean_spec((2, 3)).shape
        ()
    """
    return sum_spec(x)


def mean(x: Tensor) -> Tensor:
    """The mean of all elements.

    Args:
        x: float32 of any shape.

    Returns:
        A float32 scalar.
    """
    return scaled_sum("mean", x, 1.0 / x.size)
