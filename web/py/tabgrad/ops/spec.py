"""What an op would give and cost, from shapes alone: no data, no GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabgrad.errors import ShapeError
from tabgrad.reference.stored import FORMATS
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Spec:
    """The result of an op and its cost.

    Attributes:
        shape: of the result.
        dtype: of the result.
        flops: additions and multiplications, of the forward.
        bytes: read and written by the forward.
    """

    shape: Shape
    dtype: str
    flops: int
    bytes: int

    @property
    def size(self) -> int:
        """Elements of the result."""
        return element_count(self.shape)


def spec_of(shape: Sequence[int], inputs: Sequence[Shape], flops: int) -> Spec:
    """A float32 Spec that reads every input once and writes its result once.

    Example:
        >>> spec_of((2, 3), [(2, 3), (3,)], flops=6).bytes
        60
    """
    result = tuple(shape)
    elements = element_count(result) + sum(element_count(one) for one in inputs)
    return Spec(result, "float32", flops, ITEM_BYTES * elements)


def require_float32(op: str, *tensors: Tensor) -> None:
    """Raises ShapeError unless every tensor is float32."""
    for tensor in tensors:
        if tensor.dtype != "float32":
            raise ShapeError(f"{op}: only float32 tensors can be computed with.",
                             expected="float32", received=f"{tensor.dtype} {tensor.shape}")


def require_weights(op: str, weight: Tensor) -> None:
    """Raises ShapeError unless a weight is float32, or fixed and stored in 16 bits."""
    if weight.dtype not in FORMATS:
        raise ShapeError(f"{op}: weights are floating-point numbers.",
                         expected=", ".join(FORMATS), received=f"{weight.dtype} {weight.shape}")
    if weight.dtype != "float32" and weight.requires_grad:
        raise ShapeError(f"{op}: weights in 16 bits get no gradient.",
                         expected="float32, or requires_grad=False",
                         received=f"{weight.dtype} {weight.shape}",
                         remedy="Keep weights that are trained in float32.")


def require_suffix(op: str, a: Shape, b: Shape) -> None:
    """Raises ShapeError unless `b` is `a` or its last axes."""
    if len(b) > len(a) or a[len(a) - len(b):] != b:
        raise ShapeError(f"{op}: the second shape must be the first, or its last axes.",
                         expected=f"{a} or its end", received=f"{b}")


def require_equal(op: str, a: Shape, b: Shape) -> None:
    """Raises ShapeError unless both shapes are the same."""
    if a != b:
        raise ShapeError(f"{op}: the shapes differ.", expected=str(a), received=str(b))
