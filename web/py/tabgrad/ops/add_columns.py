"""A narrower tensor added to some columns of a wide one: what an adapter adds to a product."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, share, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count


def add_columns_spec(y: Shape, delta: Shape, first: int) -> Spec:
    """(..., M) and (..., N), from column `first` on -> (..., M).

    Example:
        >>> add_columns_spec((4, 64, 384), (4, 64, 128), first=256).shape
        (4, 64, 384)

    Raises:
        ShapeError: other rows, or columns that y does not have.
    """
    if not y or not delta or y[:-1] != delta[:-1]:
        raise ShapeError("add_columns: both tensors have the same rows.",
                         expected="(..., M) and (..., N)", received=f"{y} and {delta}")
    if not 0 <= first <= y[-1] - delta[-1]:
        raise ShapeError("add_columns: the columns must be among those of y.",
                         expected=f"{delta[-1]} columns within {y[-1]}", received=f"from {first}")
    return spec_of(y, [y, delta, (1,)], flops=2 * element_count(delta))


def add_columns(y: Tensor, delta: Tensor, first: int, scale: Tensor) -> Tensor:
    """y, with scale[0] * delta added to columns first to first + N - 1.

    Args:
        y: (..., M) float32.
        delta: (..., N) float32.
        first: the column where delta begins.
        scale: (1) float32. It is data, so a plan that reads it follows what is written there; it
            gets no gradient.

    Returns:
        (..., M) float32.

    Raises:
        ShapeError: shapes that do not fit, or a scale that requires a gradient.
    """
    spec = add_columns_spec(y.shape, delta.shape, first)
    require_float32("add_columns", y, delta, scale)
    if scale.shape != (1,) or scale.requires_grad:
        raise ShapeError("add_columns: the scale is one number that is not trained.",
                         expected="(1) without a gradient", received=str(scale.shape))
    out = Tensor.empty(spec.shape, label="add_columns")
    sizes = {"R": element_count(y.shape[:-1]), "M": y.shape[-1], "N": delta.shape[-1],
             "FIRST": first}
    current_device().launch("add_columns_forward", sizes, flops=spec.flops, out=out.region,
                            y=y.region, delta=delta.region, scale=scale.region)
    return track(out, "add_columns", _add_columns_backward, [y, delta], sizes=sizes, scale=scale)


def _add_columns_backward(record: OpRecord, gradient: Region) -> None:
    """dy = dout; ddelta = scale times the columns of dout."""
    share(record, 0, gradient)
    target = sink(record, 1)
    if target is not None:
        region, accumulate = target
        sizes = {**record.attributes["sizes"], "ACCUMULATE": int(accumulate)}
        current_device().launch("add_columns_backward", sizes, flops=record.inputs[1].size,
                                ddelta=region, dout=gradient,
                                scale=record.attributes["scale"].region)
