"""SiLU, x sigmoid(x)."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count


def silu_spec(x: Shape) -> Spec:
    """Any shape -> the same shape.

    Example:
        >>> silu_spec((2, 3)).shape
        (2, 3)
    """
    return spec_of(x, [x], flops=4 * element_count(x))


def silu(x: Tensor) -> Tensor:
    """x / (1 + e⁻ˣ), element by element.

    Args:
        x: float32 of any shape.

    Returns:
        float32 of x's shape.

    Source: Elfwing, Uchibe, Doya, "Sigmoid-weighted linear units", 2017.
    """
    spec = silu_spec(x.shape)
    require_float32("silu", x)
    out = Tensor.empty(spec.shape, label="silu")
    current_device().launch("silu_forward", {"COUNT": spec.size}, flops=spec.flops,
                            out=out.region, x=x.region)
    return track(out, "silu", _silu_backward, [x])


def _silu_backward(record: OpRecord, gradient: Region) -> None:
    """dx = dout s (1 + x (1 - s)), with s = sigmoid(x)."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        count = record.inputs[0].size
        current_device().launch("silu_backward", {"COUNT": count, "ACCUMULATE": int(accumulate)},
                                flops=7 * count, dx=region, x=record.inputs[0].region,
                                dout=gradient)
