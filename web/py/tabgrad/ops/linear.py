"""The linear layer y = x Wᵀ + b, with an activation or the residual stream fused to it."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, share, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_column
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.gpu.variants import choose, is_fusable, stored_op
from tabgrad.ops.add import add
from tabgrad.ops.gelu import gelu
from tabgrad.ops.matmul import launch_product
from tabgrad.ops.relu import relu
from tabgrad.ops.row_ranges import Rows, row_ranges
from tabgrad.ops.silu import silu
from tabgrad.ops.spec import Shape, Spec, require_equal, require_float32, require_weights, spec_of
from tabgrad.ops.tanh import tanh
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count

ACTIVATIONS = {"gelu": gelu, "relu": relu, "silu": silu, "tanh": tanh}
# What each kernel does besides the product.
FUSED = {"matmul_nt": (), "linear": ("bias",), "linear_gelu": ("bias", "gelu"),
         "matmul_residual": ("residual",), "linear_residual": ("bias", "residual")}


def linear_spec(x: Shape, weight: Shape, bias: Shape | None = None) -> Spec:
    """(..., K), weight (N, K), bias (N) -> (..., N).

    Example:
        >>> linear_spec((4, 64, 128), (512, 128), (512,)).shape
        (4, 64, 512)

    Raises:
        ShapeError: shapes that do not fit.
    """
    if len(weight) != 2 or not x or x[-1] != weight[1]:
        raise ShapeError("linear: the last axis of x must be the weight's second.",
                         expected="x (..., K) and weight (N, K)", received=f"{x} and {weight}")
    if bias is not None and bias != weight[:1]:
        raise ShapeError("linear: the bias must have one number for each output.",
                         expected=str(weight[:1]), received=str(bias))
    rows = element_count(x[:-1])
    inputs = [x, weight] if bias is None else [x, weight, bias]
    return spec_of((*x[:-1], weight[0]), inputs, flops=2 * rows * weight[0] * weight[1])


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, *,
           activation: str | None = None, residual: Tensor | None = None) -> Tensor:
    """activation(x weightᵀ + bias) + residual.

    One kernel does it all where it can (N and K multiples of four; a bias, a residual or both, or
    GELU after a bias); otherwise the same comes from its parts.

    Args:
        x: (..., K) float32.
        weight: (N, K) float32, PyTorch's layout; or stored in 16 bits, which gets no gradient.
        bias: (N) float32, or None.
        activation: "gelu" (tanh form), "relu", "silu", "tanh", or None.
        residual: (..., N) float32 added to the result, or None.

    Returns:
        (..., N) float32.

    Raises:
        ShapeError: shapes that do not fit, an unknown activation, or a weight in 16 bits that
            requires a gradient.
    """
    spec = linear_spec(x.shape, weight.shape, bias.shape if bias is not None else None)
    if activation is not None and activation not in ACTIVATIONS:
        raise ShapeError("linear: unknown activation.", expected=", ".join(ACTIVATIONS),
                         received=activation)
    if residual is not None:
        require_equal("linear: the residual", spec.shape, residual.shape)
    require_float32("linear", *(t for t in (x, bias, residual) if t is not None))
    require_weights("linear", weight)
    ranges = row_ranges(weight)
    op = _kernel_op(weight.shape, bias, activation, residual)
    if len(ranges) > 1 and x.size > weight.shape[1]:
        op = "matmul_nt"  # results of one range are no range of the result
    fused = FUSED[op]
    y = _product(op, x, weight, ranges, spec, bias if "bias" in fused else None,
                 residual if "residual" in fused else None)
    if bias is not None and "bias" not in fused:
        y = add(y, bias)
    if activation is not None and "gelu" not in fused:
        y = ACTIVATIONS[activation](y)
    return y if residual is None or "residual" in fused else add(y, residual)


def _kernel_op(weight: Shape, bias: Tensor | None, activation: str | None,
               residual: Tensor | None) -> str:
    """The product that does as much as possible of what is asked."""
    if not is_fusable(*weight):
        return "matmul_nt"
    if bias is not None and activation == "gelu" and residual is None:
        return "linear_gelu"
    if activation is None and residual is not None:
        return "matmul_residual" if bias is None else "linear_residual"
    return "matmul_nt" if bias is None else "linear"


def _product(op: str, x: Tensor, weight: Tensor, ranges: list[Rows], spec: Spec,
             bias: Tensor | None, residual: Tensor | None) -> Tensor:
    """One of FUSED: one kernel, or one for each range of the weight's rows."""
    out = Tensor.empty(spec.shape, label=op)
    pre = None
    if op == "linear_gelu":
        pre = current_device().temporary(spec.size * ITEM_BYTES, "before gelu")
    if len(ranges) > 1 and spec.size > weight.shape[0]:
        _wide_product(out, x, weight, ranges)
    else:
        regions = {"out": out.region}
        if pre is not None:
            regions["pre"] = pre
        if bias is not None:
            regions["bias"] = bias.region
        if residual is not None:
            regions["residual"] = residual.region
        for rows in ranges:
            _launch(op, x, weight, rows, regions if len(ranges) == 1 else {
                name: rows.part(region) for name, region in regions.items()})
    inputs = [x, weight, *(tensor for tensor in (bias, residual) if tensor is not None)]
    return track(out, op, _linear_backward, inputs, pre=pre, has_bias=bias is not None,
                 has_residual=residual is not None)


def _launch(op: str, x: Tensor, weight: Tensor, rows: Rows, regions: dict[str, Region]) -> None:
    """One kernel: some rows of the weight, with the regions of their results."""
    device = current_device()
    k = weight.shape[1]
    m, n = x.size // k, rows.count
    sizes = {"M": m, "N": n, "K": k} | ({"ACCUMULATE": 0} if op == "matmul_nt" else {})
    variant = choose(stored_op(op, weight.dtype), m, n, k, device.info)
    device.launch(variant.kernel, sizes, variant.consts, flops=2 * m * n * k, a=x.region,
                  b=rows.region, **regions)


def _wide_product(out: Tensor, x: Tensor, weight: Tensor, ranges: list[Rows]) -> None:
    """Several rows of x, and a weight in ranges: each gives some columns of the result."""
    device = current_device()
    n, k = weight.shape
    m = x.size // k
    device.clear(out.region)  # only some columns are written at a time
    for rows in ranges:
        columns = device.temporary(m * rows.count * ITEM_BYTES, "columns")
        _launch("matmul_nt", x, weight, rows, {"out": columns})
        device.launch("insert_columns",
                      {"M": m, "N": rows.count, "STRIDE": n, "FIRST": rows.first},
                      out=out.region, x=columns)


def _linear_backward(record: OpRecord, gradient: Region) -> None:
    """dx = ds W; dW = dsᵀ x; db = the sum of ds over the rows; s comes before the activation."""
    x, weight = record.inputs[:2]
    n, k = weight.shape
    rows = x.size // k
    pre: Region | None = record.attributes["pre"]
    if record.attributes["has_residual"]:
        share(record, len(record.inputs) - 1, gradient)
    if pre is not None:
        gradient = _through_gelu(pre, gradient, rows * n)
    target = sink(record, 0)
    if target is not None:
        launch_product("matmul_nn", target[0], gradient, weight.region, (rows, k, n), target[1],
                       weight.dtype)
    target = sink(record, 1)
    if target is not None:
        launch_product("matmul_tn", target[0], gradient, x.region, (n, k, rows), target[1])
    target = sink(record, 2) if record.attributes["has_bias"] else None
    if target is not None:
        sizes = {"R": rows, "C": n, "FACTOR": 1.0, "ACCUMULATE": int(target[1])}
        device = current_device()
        device.launch("column_sum", sizes, lanes_of_a_column(device.info), flops=rows * n,
                      out=target[0], x=gradient)


def _through_gelu(pre: Region, gradient: Region, count: int) -> Region:
    device = current_device()
    through = device.temporary(count * ITEM_BYTES, "gradient before gelu")
    device.launch("gelu_backward", {"COUNT": count, "ACCUMULATE": 0}, flops=10 * count,
                  dx=through, x=pre, dout=gradient)
    return through
