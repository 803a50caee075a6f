"""Multiplication by a number that stays the same."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count


def scale_spec(x: Shape) -> Spec:
    """Any shape -> the same shape.

    Example:
        >>> scale_spec((2, 3)).flops
        6
    """
    return spec_of(x, [x], flops=element_count(x))


def scale(x: Tensor, factor: float) -> Tensor:
    """factor * x.

    Args:
        x: float32 of any shape.
        factor: a number. It is part of the program: for one that changes from step to step use
            a tensor and `mul`.

    Returns:
        float32 of x's shape.
    """
    spec = scale_spec(x.shape)
    require_float32("scale", x)
    out = Tensor.empty(spec.shape, label="scale")
    _scale(out.region, x.region, spec.size, factor, accumulate=False)
    return track(out, "scale", _scale_backward, [x], factor=factor)


def _scale_backward(record: OpRecord, gradient: Region) -> None:
    """dx = factor * dout."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        _scale(region, gradient, record.inputs[0].size, record.attributes["factor"], accumulate)


def _scale(out: Region, x: Region, count: int, factor: float, accumulate: bool) -> None:
    sizes = {"COUNT": count, "FACTOR": factor, "ACCUMULATE": int(accumulate)}
    current_device().launch("scale", sizes, flops=count, out=out, x=x)
