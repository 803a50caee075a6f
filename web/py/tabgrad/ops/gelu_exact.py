"""GELU with the normal distribution's own integral, which configs call "gelu"."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count


def gelu_exact_spec(x: Shape) -> Spec:
    """Any shape -> the same shape.

    Example:
        >>> gelu_exact_spec((2, 3)).shape
        (2, 3)
    """
    return spec_of(x, [x], flops=15 * element_count(x))


def gelu_exact(x: Tensor) -> Tensor:
    """x / 2 (1 + erf(x / sqrt(2))), element by element; `gelu` is the nearby tanh form.

    Args:
        x: float32 of any shape.

    Returns:
        float32 of x's shape.

    Source: Hendrycks and Gimpel, "Gaussian error linear units (GELUs)", 2016.
    """
    spec = gelu_exact_spec(x.shape)
    require_float32("gelu_exact", x)
    out = Tensor.empty(spec.shape, label="gelu_exact")
    current_device().launch("gelu_exact_forward", {"COUNT": spec.size}, flops=spec.flops,
                            out=out.region, x=x.region)
    return track(out, "gelu_exact", _gelu_exact_backward, [x])


def _gelu_exact_backward(record: OpRecord, gradient: Region) -> None:
    """dx = dout (Φ(x) + x φ(x)), with the normal distribution φ and its integral Φ."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        count = record.inputs[0].size
        current_device().launch("gelu_exact_backward",
                                {"COUNT": count, "ACCUMULATE": int(accumulate)},
                                flops=15 * count, dx=region, x=record.inputs[0].region,
                                dout=gradient)
