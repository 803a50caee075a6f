"""Sums over all elements."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.gpu.adapter_class import lanes_of_a_stretch
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count

STRETCH = 4096  # elements of one sum


def sum_spec(x: Shape) -> Spec:
    """Any shape -> a scalar.

    Example:
        >>> sum_spec((2, 3)).shape
        ()
    """
    return spec_of((), [x], flops=element_count(x))


def sum(x: Tensor) -> Tensor:
    """The sum of all elements, in a fixed order.

    Args:
        x: float32 of any shape.

    Returns:
        A float32 scalar.
    """
    return scaled_sum("sum", x, 1.0)


def scaled_sum(op: str, x: Tensor, factor: float) -> Tensor:
    """factor times the sum of all elements, which is what `sum` and `mean` have in common."""
    require_float32(op, x)
    device = current_device()
    out = Tensor.empty((), label=op)
    source, count = x.region, x.size
    while True:
        # Each launch leaves a sum for every stretch of 4096, until one number is left.
        left = -(-count // STRETCH)
        target = out.region if left == 1 else device.temporary(left * ITEM_BYTES, "sums")
        device.launch("sum", {"COUNT": count, "FACTOR": factor if left == 1 else 1.0},
                      {"LANES": lanes_of_a_stretch(device.info)}, flops=count, out=target, x=source)
        if left == 1:
            return track(out, op, _scaled_sum_backward, [x], factor=factor)
        source, count = target, left


def _scaled_sum_backward(record: OpRecord, gradient: Region) -> None:
    """Every element gets factor * dout."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        sizes = {"COUNT": record.inputs[0].size, "FACTOR": record.attributes["factor"],
                 "ACCUMULATE": int(accumulate)}
        current_device().launch("fill", sizes, out=region, value=gradient)
