"""A gate that lets through what its sigmoid says."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_equal, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count


def sigmoid_gate_spec(x: Shape, gate: Shape) -> Spec:
    """Equal shapes -> the same shape.

    Example:
        >>> sigmoid_gate_spec((2, 3), (2, 3)).shape
        (2, 3)

    Raises:
        ShapeError: the shapes differ.
    """
    require_equal("sigmoid_gate", x, gate)
    return spec_of(x, [x, gate], flops=4 * element_count(x))


def sigmoid_gate(x: Tensor, gate: Tensor) -> Tensor:
    """x * sigmoid(gate), element by element.

    Args:
        x: float32 of any shape.
        gate: float32 of the same shape.

    Returns:
        float32 of that shape.

    Raises:
        ShapeError: the shapes differ.
    """
    spec = sigmoid_gate_spec(x.shape, gate.shape)
    require_float32("sigmoid_gate", x, gate)
    out = Tensor.empty(spec.shape, label="sigmoid_gate")
    _gate(out.region, x.region, gate.region, spec.size, accumulate=False)
    return track(out, "sigmoid_gate", _sigmoid_gate_backward, [x, gate])


def _sigmoid_gate_backward(record: OpRecord, gradient: Region) -> None:
    """dx = dout s; dgate = dout x s (1 - s), with s = sigmoid(gate)."""
    x, gate = record.inputs
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        _gate(region, gradient, gate.region, x.size, accumulate)
    target = sink(record, 1)
    if target is not None:
        region, accumulate = target
        current_device().launch("sigmoid_gate_backward",
                                {"COUNT": x.size, "ACCUMULATE": int(accumulate)},
                                flops=7 * x.size, dgate=region, x=x.region, gate=gate.region,
                                dout=gradient)


def _gate(out: Region, x: Region, gate: Region, count: int, accumulate: bool) -> None:
    current_device().launch("sigmoid_gate_forward",
                            {"COUNT": count, "ACCUMULATE": int(accumulate)}, flops=4 * count,
                            out=out, x=x, gate=gate)
