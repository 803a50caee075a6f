"""GELU in its tanh form, GPT-2's activation."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count


def gelu_spec(x: Shape) -> Spec:
    """Any shape -> the same shape.

    Example:
        >>> gelu_spec((2, 3)).shape
        (2, 3)
    """
    return spec_of(x, [x], flops=10 * element_count(x))


def gelu(x: Tensor) -> Tensor:
    """x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))), element by element.

    Args:
        x: float32 of any shape.

    Returns:
        float32 of x's shape.
    """
    spec = gelu_spec(x.shape)
    require_float32("gelu", x)
    out = Tensor.empty(spec.shape, label="gelu")
    current_device().launch("gelu_forward", {"COUNT": spec.size}, flops=spec.flops,
                            out=out.region, x=x.region)
    return track(out, "gelu", _gelu_backward, [x])


def _gelu_backward(record: OpRecord, gradient: Region) -> None:
    """dx = dout * gelu'(x)."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        count = record.inputs[0].size
        current_device().launch("gelu_backward", {"COUNT": count, "ACCUMULATE": int(accumulate)},
                                flops=10 * count, dx=region, x=record.inputs[0].region,
                                dout=gradient)
