"""RMS normalisation over the last axis."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_column, lanes_of_a_row
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


def rmsnorm_spec(x: Shape, weight: Shape) -> Spec:
    """(..., C), weight (C) -> (..., C).

    Example:
        >>> rmsnorm_spec((4, 64, 128), (128,)).shape
        (4, 64, 128)

    Raises:
        ShapeError: a gain that does not fit the last axis.
    """
    if not x or weight != x[-1:]:
        raise ShapeError("rmsnorm: the gain needs one number for each channel.",
                         expected=f"{x[-1:]}", received=f"{weight}")
    return spec_of(x, [x, weight], flops=4 * element_count(x))


def rmsnorm(x: Tensor, weight: Tensor, eps: float = 1e-6, offset: float = 0.0) -> Tensor:
    """x / sqrt(mean(x²) + eps) * (offset + weight), over the last axis.

    Args:
        x: (..., C) float32.
        weight: (C) float32, the gain less `offset`.
        eps: added to the mean of the squares.
        offset: added to the gain: 0 in Llama, 1 in Gemma.

    Returns:
        (..., C) float32.

    Raises:
        ShapeError: shapes that do not fit.

    Source: Zhang and Sennrich, "Root mean square layer normalization", 2019.
    """
    spec = rmsnorm_spec(x.shape, weight.shape)
    require_float32("rmsnorm", x, weight)
    device = current_device()
    columns = x.shape[-1]
    rows = x.size // columns
    out = Tensor.empty(spec.shape, label="rmsnorm")
    rstd = device.temporary(rows * ITEM_BYTES, "rmsnorm rstd")
    device.launch("rmsnorm_forward", {"R": rows, "C": columns, "EPS": eps, "OFFSET": offset},
                  {"LANES": lanes_of_a_row(device.info, columns)}, flops=spec.flops,
                  out=out.region, rstd=rstd, x=x.region, weight=weight.region)
    return track(out, "rmsnorm", _rmsnorm_backward, [x, weight], rstd=rstd, offset=offset)


def _rmsnorm_backward(record: OpRecord, gradient: Region) -> None:
    """dx = rstd (g - xhat mean(g xhat)), g = dout (offset + weight); the gain by rows."""
    device = current_device()
    x, weight = record.inputs
    columns = x.shape[-1]
    rows = x.size // columns
    rstd, offset = record.attributes["rstd"], record.attributes["offset"]
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        device.launch("rmsnorm_backward_input", {"R": rows, "C": columns, "OFFSET": offset,
                                                 "ACCUMULATE": int(accumulate)},
                      {"LANES": lanes_of_a_row(device.info, columns)}, flops=7 * x.size,
                      dx=region, dout=gradient, x=x.region, weight=weight.region, rstd=rstd)
    target = sink(record, 1)
    if target is not None:
        region, accumulate = target
        device.launch("rmsnorm_backward_weight",
                      {"R": rows, "C": columns, "ACCUMULATE": int(accumulate)},
                      lanes_of_a_column(device.info), flops=3 * x.size,
                      dweight=region, dout=gradient, x=x.region, rstd=rstd)
