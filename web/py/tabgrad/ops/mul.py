"""The product element by element."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_equal, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count


def mul_spec(a: Shape, b: Shape) -> Spec:
    """Equal shapes -> the same shape.

    Example:
        >>> mul_spec((2, 3), (2, 3)).flops
        6
    """
    require_equal("mul", a, b)
    return spec_of(a, [a, b], flops=element_count(a))


def mul(a: Tensor, b: Tensor) -> Tensor:
    """a * b, element by element.

    Args:
        a: float32 of any shape.
        b: float32 of the same shape.

    Returns:
        float32 of that shape.

    Raises:
        ShapeError: the shapes differ.
    """
    spec = mul_spec(a.shape, b.shape)
    require_float32("mul", a, b)
    out = Tensor.empty(spec.shape, label="mul")
    _multiply(out.region, a.region, b.region, spec.size, accumulate=False)
    return track(out, "mul", _mul_backward, [a, b])


def _mul_backward(record: OpRecord, gradient: Region) -> None:
    """da = dout * b; db = dout * a."""
    for i in (0, 1):
        target = sink(record, i)
        if target is not None:
            region, accumulate = target
            other = record.inputs[1 - i]
            _multiply(region, gradient, other.region, other.size, accumulate)


def _multiply(out: Region, a: Region, b: Region, count: int, accumulate: bool) -> None:
    current_device().launch("mul_forward", {"COUNT": count, "ACCUMULATE": int(accumulate)},
                            flops=count, out=out, a=a, b=b)
