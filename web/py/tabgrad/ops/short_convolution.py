"""A causal depthwise convolution of a few taps with SiLU: whole sequences, or one more piece."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_column
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.ops.span import span_region
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.ops.starts import starts_region
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count


def short_convolution_spec(x: Shape, weight: Shape) -> Spec:
    """x (B, T, C), weight (C, K) -> (B, T, C).

    Example:
        >>> short_convolution_spec((4, 64, 96), (96, 4)).shape
        (4, 64, 96)

    Raises:
        ShapeError: another rank, or taps for another number of channels.
    """
    if len(x) != 3 or len(weight) != 2 or weight[0] != x[-1]:
        raise ShapeError("short_convolution: each channel needs taps of its own.",
                         expected="x (B, T, C) and weight (C, K)", received=f"{x} and {weight}")
    return spec_of(x, [x, weight], flops=(2 * weight[1] + 4) * element_count(x))


def short_convolution_cached_spec(x: Shape, weight: Shape, state: Shape) -> Spec:
    """x (T, C), weight (C, K), state (K - 1, C) -> (T, C).

    Example:
        >>> short_convolution_cached_spec((16, 96), (96, 4), (3, 96)).shape
        (16, 96)

    Raises:
        ShapeError: another rank, or a state that is not the last K - 1 rows.
    """
    spec = short_convolution_spec((1, *x), weight)
    if weight[1] < 2 or state != (weight[1] - 1, x[-1]):
        raise ShapeError("short_convolution_cached: the state holds the rows before x.",
                         expected=f"at least 2 taps, and a state ({weight[1] - 1}, {x[-1]})",
                         received=f"{weight[1]} taps and {state}")
    return spec_of(x, [x, weight, state, state], flops=spec.flops)


def short_convolution(x: Tensor, weight: Tensor, *, starts: Tensor | None = None) -> Tensor:
    """silu(sum over j of weight[c, j] x[t - (K - 1) + j]); zeros before the first position.

    Args:
        x: (B, T, C) float32.
        weight: (C, K) float32: taps of each channel, that of the newest position last.
        starts: (B, T) uint32, for rows of several documents: what lies before starts[b, t] counts
            as zero for position t. They do not fall along a row. None: each row is one document.

    Returns:
        (B, T, C) float32.

    Raises:
        ShapeError: shapes that do not fit.

    Source: Gu and Dao, "Mamba", 2023.
    """
    spec = short_convolution_spec(x.shape, weight.shape)
    require_float32("short_convolution", x, weight)
    begins, consts = starts_region("short_convolution", starts, x.shape[:2])
    out = Tensor.empty(spec.shape, label="short_convolution")
    current_device().launch("short_convolution_forward", _sizes(x, weight), consts,
                            flops=spec.flops, out=out.region, x=x.region, weight=weight.region,
                            starts=begins)
    return track(out, "short_convolution", _short_convolution_backward, [x, weight],
                 starts=begins, consts=consts)


def short_convolution_cached(x: Tensor, weight: Tensor, state: Tensor, span: Tensor) -> Tensor:
    """The same for rows that follow others; the state is moved on by the rows that count.

    Args:
        x: (T, C) float32.
        weight: (C, K) float32, at least two taps.
        state: (K - 1, C) float32, the rows before x, oldest first; changed in place.
        span: uint32: position of row 0, rows that count. Rows from span[1] on are padding:
            their results mean nothing. With T = 1 the row counts, and span is not looked at.

    Returns:
        (T, C) float32. There is no backward.

    Raises:
        ShapeError: shapes that do not fit.
    """
    spec = short_convolution_cached_spec(x.shape, weight.shape, state.shape)
    require_float32("short_convolution_cached", x, weight, state)
    out = Tensor.empty(spec.shape, label="short_convolution_cached")
    sizes = {"T": x.shape[0], "C": x.shape[1], "K": weight.shape[1]}
    current_device().launch("short_convolution_cached", sizes, flops=spec.flops,
                            out=out.region, state=state.region, x=x.region,
                            weight=weight.region,
                            span=span_region("short_convolution_cached", span))
    return out


def _short_convolution_backward(record: OpRecord, gradient: Region) -> None:
    """dsum = dout silu'(sum); dx is its convolution backwards in time, dweight its sums with x."""
    device = current_device()
    x, weight = record.inputs
    sizes = _sizes(x, weight)
    consts, starts = record.attributes["consts"], record.attributes["starts"]
    flops = 2 * weight.shape[1] * x.size
    dsum = device.temporary(x.size * ITEM_BYTES, "short_convolution dsum")
    device.launch("short_convolution_backward_sum", sizes, consts, flops=flops, dsum=dsum,
                  x=x.region, weight=weight.region, dout=gradient, starts=starts)
    target = sink(record, 0)
    if target is not None:
        region, accumulate = target
        device.launch("short_convolution_backward_input",
                      {**sizes, "ACCUMULATE": int(accumulate)}, consts, flops=flops, dx=region,
                      dsum=dsum, weight=weight.region, starts=starts)
    target = sink(record, 1)
    if target is not None:
        region, accumulate = target
        device.launch("short_convolution_backward_weight",
                      {**sizes, "ACCUMULATE": int(accumulate)},
                      {**lanes_of_a_column(device.info), **consts}, flops=flops, dweight=region,
                      dsum=dsum, x=x.region, starts=starts)


def _sizes(x: Tensor, weight: Tensor) -> dict[str, int]:
    batch, time, channels = x.shape
    return {"B": batch, "T": time, "C": channels, "K": weight.shape[1]}
