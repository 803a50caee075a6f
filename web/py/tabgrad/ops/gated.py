"""The gated activation inside an MLP."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import Tensor, element_count

ACTIVATIONS = ("silu", "gelu")  # in the order of the kernels' ACTIVATION


def gated_spec(gate_up: Shape) -> Spec:
    """(..., 2 F) -> (..., F).

    Example:
        >>> gated_spec((4, 64, 2 * 128)).shape
        (4, 64, 128)

    Raises:
        ShapeError: a last axis that has no halves.
    """
    if not gate_up or gate_up[-1] % 2:
        raise ShapeError("gated: the last axis holds the gates, then what they let through.",
                         expected="(..., 2 F)", received=str(gate_up))
    return spec_of((*gate_up[:-1], gate_up[-1] // 2), [gate_up], flops=5 * element_count(gate_up))


def gated(gate_up: Tensor, activation: str) -> Tensor:
    """activation(first half) * second half, over the last axis.

    Args:
        gate_up: (..., 2 F) float32: gates, then ups.
        activation: "silu", or "gelu" in its tanh form.

    Returns:
        (..., F) float32.

    Raises:
        ShapeError: a last axis that has no halves, or another activation.

    Source: Shazeer, "GLU variants improve transformer", 2020 (SwiGLU and GEGLU).
    """
    if activation not in ACTIVATIONS:
        raise ShapeError("gated: this activation has no gated form here.",
                         expected=" or ".join(ACTIVATIONS), received=repr(activation))
    spec = gated_spec(gate_up.shape)
    require_float32("gated", gate_up)
    out = Tensor.empty(spec.shape, label="gated")
    sizes = {"R": spec.size // spec.shape[-1], "F": spec.shape[-1]}
    consts = {"ACTIVATION": ACTIVATIONS.index(activation)}
    current_device().launch("gated_forward", sizes, consts, flops=spec.flops, out=out.region,
                            gate_up=gate_up.region)
    return track(out, "gated", _gated_backward, [gate_up], sizes=sizes, consts=consts)


def _gated_backward(record: OpRecord, gradient: Region) -> None:
    """dgate = dout activation'(gate) up; dup = dout activation(gate)."""
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        saved = record.attributes
        current_device().launch("gated_backward",
                                {**saved["sizes"], "ACCUMULATE": int(accumulate)},
                                saved["consts"], flops=8 * record.inputs[0].size,
                                dgate_up=region, gate_up=record.inputs[0].region, dout=gradient)
