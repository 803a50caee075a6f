"""The rectifier."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count


def relu_spec(x: Shape) -> Spec:
    """Any shape -> the same shape.

    Example:
        >>> relu_spec((2, 3)).shape
        (2, 3)
    """
    return spec_of(x, [x], flops=1 * element_count(x))


def relu(x: Tensor) -> Tensor:
    """max(x, 0), element by element.

    Args:
        x: float32 of any shape.

    Returns:
        float32 of x's shape.
    """
    spec = relu_spec(x.shape)
    require_float32("relu", x)
    out = Tensor.empty(spec.shape, label="relu")
    current_device().launch("relu_forward", {"COUNT": spec.size}, flops=spec.flops,
                            out=out.region, x=x.region)
    return track(out, "relu", _relu_backward, [x])


def _relu_backward(record: OpRecord, gradient: Region) -> None:
    """dx = dout where x > 0, else 0."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        count = record.inputs[0].size
        current_device().launch("relu_backward", {"COUNT": count, "ACCUMULATE": int(accumulate)},
                                flops=1 * count, dx=region, x=record.inputs[0].region,
                                dout=gradient)
