"""Layer normalisation over the last axis."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_column, lanes_of_a_row
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


def layernorm_spec(x: Shape, weight: Shape, bias: Shape) -> Spec:
    """(..., C), weight (C), bias (C) -> (..., C).

    Example:
        >>> layernorm_spec((4, 64, 128), (128,), (128,)).shape
        (4, 64, 128)

    Raises:
        ShapeError: gain or shift that do not fit the last axis.
    """
    if not x or weight != x[-1:] or bias != x[-1:]:
        raise ShapeError("layernorm: gain and shift need one number for each channel.",
                         expected=f"{x[-1:]} and {x[-1:]}", received=f"{weight} and {bias}")
    return spec_of(x, [x, weight, bias], flops=8 * element_count(x))


def layernorm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias, over the last axis.

    Args:
        x: (..., C) float32.
        weight: (C) float32, the gain.
        bias: (C) float32, the shift.
        eps: added to the variance.

    Returns:
        (..., C) float32.

    Raises:
        ShapeError: shapes that do not fit.

    Source: Ba, Kiros, Hinton, "Layer normalization", 2016.
    """
    spec = layernorm_spec(x.shape, weight.shape, bias.shape)
    require_float32("layernorm", x, weight, bias)
    device = current_device()
    columns = x.shape[-1]
    rows = x.size // columns
    out = Tensor.empty(spec.shape, label="layernorm")
    mean = device.temporary(rows * ITEM_BYTES, "layernorm mean")
    rstd = device.temporary(rows * ITEM_BYTES, "layernorm rstd")
    device.launch("layernorm_forward", {"R": rows, "C": columns, "EPS": eps},
                  {"LANES": lanes_of_a_row(device.info, columns)}, flops=spec.flops,
                  out=out.region, mean=mean, rstd=rstd, x=x.region, weight=weight.region,
                  bias=bias.region)
    return track(out, "layernorm", _layernorm_backward, [x, weight, bias], mean=mean, rstd=rstd)


def _layernorm_backward(record: OpRecord, gradient: Region) -> None:
    """dx = rstd (g - mean(g) - xhat mean(g xhat)), g = dout weight; gain and shift by rows."""
    device = current_device()
    x, weight, bias = record.inputs
    columns = x.shape[-1]
    rows = x.size // columns
    saved = {"x": x.region, "mean": record.attributes["mean"], "rstd": record.attributes["rstd"]}
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        device.launch("layernorm_backward_input",
                      {"R": rows, "C": columns, "ACCUMULATE": int(accumulate)},
                      {"LANES": lanes_of_a_row(device.info, columns)}, flops=10 * x.size,
                      dx=region, dout=gradient, weight=weight.region, **saved)
    if weight.requires_grad or bias.requires_grad:
        _weight_and_bias(record, gradient, rows, columns, saved)


def _weight_and_bias(record: OpRecord, gradient: Region, rows: int, columns: int,
                     saved: dict[str, Region]) -> None:
    """One kernel gives both sums; when one of them is added to, the other starts from zero."""
    device = current_device()
    targets = [sink(record, 1), sink(record, 2)]
    accumulate = any(target is not None and target[1] for target in targets)
    regions = []
    for target in targets:
        region, has_numbers = target or (
            device.temporary(columns * ITEM_BYTES, "layernorm gradient nobody needs"), False)
        if accumulate and not has_numbers:
            device.clear(region)
        regions.append(region)
    device.launch("layernorm_backward_weight",
                  {"R": rows, "C": columns, "ACCUMULATE": int(accumulate)},
                  lanes_of_a_column(device.info), flops=5 * rows * columns,
                  dweight=regions[0], dbias=regions[1], dout=gradient, **saved)
