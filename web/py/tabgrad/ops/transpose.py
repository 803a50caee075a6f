"""The transpose of a matrix."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor


def transpose_spec(x: Shape) -> Spec:
    """(R, C) -> (C, R).

    Example:
        >>> transpose_spec((2, 3)).shape
        (3, 2)

    Raises:
        ShapeError: not a matrix.
    """
    if len(x) != 2:
        raise ShapeError("transpose: only a matrix has a transpose.", expected="two axes",
                         received=str(x))
    return spec_of((x[1], x[0]), [x], flops=0)


def transpose(x: Tensor) -> Tensor:
    """The transpose of x.

    Args:
        x: (R, C) float32.

    Returns:
        (C, R) float32.

    Raises:
        ShapeError: not a matrix.
    """
    spec = transpose_spec(x.shape)
    require_float32("transpose", x)
    out = Tensor.empty(spec.shape, label="transpose")
    _transpose(out.region, x.region, x.shape, accumulate=False)
    return track(out, "transpose", _transpose_backward, [x])


def _transpose_backward(record: OpRecord, gradient: Region) -> None:
    """dx is the transpose of dout."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        rows, columns = record.inputs[0].shape
        _transpose(region, gradient, (columns, rows), accumulate)


def _transpose(out: Region, x: Region, shape: Shape, accumulate: bool) -> None:
    sizes = {"R": shape[0], "C": shape[1], "ACCUMULATE": int(accumulate)}
    current_device().launch("transpose", sizes, out=out, x=x)
