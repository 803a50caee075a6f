"""RMS normalisation over the last axis, with a gate."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_column, lanes_of_a_row
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


def gated_rmsnorm_spec(x: Shape, gate: Shape, weight: Shape) -> Spec:
    """x, gate (..., C), weight (C) -> (..., C).

    Example:
        >>> gated_rmsnorm_spec((4, 64, 16, 128), (4, 64, 16, 128), (128,)).shape
        (4, 64, 16, 128)

    Raises:
        ShapeError: a gate or a gain that does not fit.
    """
    if not x or gate != x or weight != x[-1:]:
        raise ShapeError("gated_rmsnorm: a gate for each number, and a gain for each channel.",
                         expected=f"{x} and {x[-1:]}", received=f"{gate} and {weight}")
    return spec_of(x, [x, gate, weight], flops=9 * element_count(x))


def gated_rmsnorm(x: Tensor, gate: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """x / sqrt(mean(x²) + eps) * weight * silu(gate), over the last axis.

    Args:
        x: (..., C) float32.
        gate: float32 of the same shape.
        weight: (C) float32, the gain.
        eps: added to the mean of the squares.

    Returns:
        (..., C) float32.

    Raises:
        ShapeError: shapes that do not fit.

    Source: Dao and Gu, "Transformers are SSMs", 2024; here the norm comes before the gate.
    """
    spec = gated_rmsnorm_spec(x.shape, gate.shape, weight.shape)
    require_float32("gated_rmsnorm", x, gate, weight)
    device = current_device()
    rows, columns = _rows(x)
    out = Tensor.empty(spec.shape, label="gated_rmsnorm")
    rstd = device.temporary(rows * ITEM_BYTES, "gated_rmsnorm rstd")
    device.launch("gated_rmsnorm_forward", {"R": rows, "C": columns, "EPS": eps},
                  {"LANES": lanes_of_a_row(device.info, columns)}, flops=spec.flops,
                  out=out.region, rstd=rstd, x=x.region, gate=gate.region, weight=weight.region)
    return track(out, "gated_rmsnorm", _gated_rmsnorm_backward, [x, gate, weight], rstd=rstd)


def _gated_rmsnorm_backward(record: OpRecord, gradient: Region) -> None:
    """The gate first; what is left is the backward of an RMS normalisation, by its own kernels."""
    device = current_device()
    x, gate, weight = record.inputs
    rows, columns = _rows(x)
    rstd = record.attributes["rstd"]
    dnorm = device.temporary(x.size * ITEM_BYTES, "gated_rmsnorm dnorm")
    region, accumulate = sink(record, 1) or (
        device.temporary(x.size * ITEM_BYTES, "gated_rmsnorm gradient nobody needs"), False)
    sizes = {"R": rows, "C": columns}
    device.launch("gated_rmsnorm_backward_gate", {**sizes, "ACCUMULATE": int(accumulate)},
                  flops=16 * x.size, dgate=region, dnorm=dnorm, dout=gradient, x=x.region,
                  gate=gate.region, weight=weight.region, rstd=rstd)
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        device.launch("rmsnorm_backward_input",
                      {**sizes, "OFFSET": 0.0, "ACCUMULATE": int(accumulate)},
                      {"LANES": lanes_of_a_row(device.info, columns)}, flops=7 * x.size,
                      dx=region, dout=dnorm, x=x.region, weight=weight.region, rstd=rstd)
    target = sink(record, 2)
    if target is not None:
        region, accumulate = target
        device.launch("rmsnorm_backward_weight", {**sizes, "ACCUMULATE": int(accumulate)},
                      lanes_of_a_column(device.info), flops=3 * x.size,
                      dweight=region, dout=dnorm, x=x.region, rstd=rstd)


def _rows(x: Tensor) -> tuple[int, int]:
    return x.size // x.shape[-1], x.shape[-1]
