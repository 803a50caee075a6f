"""The same numbers under other axes."""

from __future__ import annotations

from collections.abc import Sequence

from tabgrad.autograd import OpRecord, share, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec
from tabgrad.tensor import Tensor, element_count


def reshape_spec(x: Shape, shape: Sequence[int]) -> Spec:
    """One axis of `shape` may be -1: as long as it must be.

    Example:
        >>> reshape_spec((2, 3, 4), (6, -1)).shape
        (6, 4)

    Raises:
        ShapeError: the numbers of elements differ, or more than one axis is -1.
    """
    wanted = tuple(int(axis) for axis in shape)
    if wanted.count(-1) == 1:
        known = -element_count(wanted)
        missing = element_count(x) // known if known > 0 else 0
        wanted = tuple(missing if axis == -1 else axis for axis in wanted)
    if any(axis < 1 for axis in wanted) or element_count(wanted) != element_count(x):
        raise ShapeError("reshape: the numbers of elements differ.",
                         expected=f"{element_count(x)} elements, as in {x}",
                         received=str(tuple(shape)))
    return Spec(wanted, "float32", 0, 0)


def reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
    """x under other axes; shares x's bytes.

    Args:
        x: any dtype and shape.
        shape: the new axes; one of them may be -1.

    Returns:
        x's dtype, the new shape.

    Raises:
        ShapeError: the numbers of elements differ.
    """
    spec = reshape_spec(x.shape, shape)
    return track(Tensor(spec.shape, x.dtype, x.region), "reshape", _reshape_backward, [x])


def _reshape_backward(record: OpRecord, gradient: Region) -> None:
    """The gradient keeps its bytes too."""
    share(record, 0, gradient)
