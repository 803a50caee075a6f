"""The hyperbolic tangent."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count


def tanh_spec(x: Shape) -> Spec:
    """Any shape -> the same shape.

    Example:
        >>> tanh_spec((2, 3)).shape
        (2, 3)
    """
    return spec_of(x, [x], flops=5 * element_count(x))


def tanh(x: Tensor) -> Tensor:
    """tanh(x), element by element.

    Args:
        x: float32 of any shape.

    Returns:
        float32 of x's shape.
    """
    spec = tanh_spec(x.shape)
    require_float32("tanh", x)
    out = Tensor.empty(spec.shape, label="tanh")
    current_device().launch("tanh_forward", {"COUNT": spec.size}, flops=spec.flops,
                            out=out.region, x=x.region)
    return track(out, "tanh", _tanh_backward, [x])


def _tanh_backward(record: OpRecord, gradient: Region) -> None:
    """dx = dout * (1 - y²), with y = tanh(x)."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        count = record.inputs[0].size
        current_device().launch("tanh_backward", {"COUNT": count, "ACCUMULATE": int(accumulate)},
                                flops=5 * count, dx=region, y=record.output.region,
                                dout=gradient)
