"""Addition; the second operand may be the last axes of the first: a bias, positions."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, share, sink, track
from tabgrad.gpu.adapter_class import lanes_of_a_column
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, require_suffix, spec_of
from tabgrad.tensor import Tensor, element_count


def add_spec(a: Shape, b: Shape) -> Spec:
    """(..., *b) + b -> (..., *b).

    Example:
        >>> add_spec((2, 3, 4), (4,)).shape
        (2, 3, 4)
    """
    require_suffix("add", a, b)
    return spec_of(a, [a, b], flops=element_count(a))


def add(a: Tensor, b: Tensor) -> Tensor:
    """a + b.

    Args:
        a: float32 of any shape.
        b: float32 of the same shape, or of its last axes; then it repeats over the others.

    Returns:
        float32 of a's shape.

    Raises:
        ShapeError: b is neither.
    """
    spec = add_spec(a.shape, b.shape)
    return add_scaled("add", a, b, 1.0, spec)


def add_scaled(op: str, a: Tensor, b: Tensor, factor: float, spec: Spec) -> Tensor:
    """a + factor * b, which is what `add` and `sub` have in common."""
    require_float32(op, a, b)
    out = Tensor.empty(spec.shape, label=op)
    current_device().launch("add_forward",
                            {"COUNT": spec.size, "PERIOD": b.size, "FACTOR": factor},
                            flops=spec.flops, out=out.region, a=a.region, b=b.region)
    return track(out, op, _add_scaled_backward, [a, b], factor=factor)


def _add_scaled_backward(record: OpRecord, gradient: Region) -> None:
    """da = dout; db = factor * dout, summed over the axes that b repeats over."""
    a, b = record.inputs
    factor = record.attributes["factor"]
    share(record, 0, gradient)
    if a.size == b.size and factor == 1.0:
        share(record, 1, gradient)
        return
    target = sink(record, 1)
    if target is not None:
        region, accumulate = target
        sizes = {"R": a.size // b.size, "C": b.size, "FACTOR": factor,
                 "ACCUMULATE": int(accumulate)}
        device = current_device()
        device.launch("column_sum", sizes, lanes_of_a_column(device.info), flops=a.size,
                      out=region, x=gradient)
