"""The linear layer y = x Wᵀ + b, with an activation or the residual stream fused to it."""

from __future__ import annotations

from tabgrad.autograd import OpRecord, share, sink, track
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import lanes_of_a_column
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.gpu.variants import choose, is_fusable
from tabgrad.ops.add import add
from tabgrad.ops.gelu import gelu
from tabgrad.ops.matmul import launch_product
from tabgrad.ops.relu import relu
from tabgrad.ops.spec import Shape, Spec, require_equal, require_float32, spec_of
from tabgrad.ops.tanh import tanh
from tabgrad.tensor import ITEM_BYTES, Tensor, element_count

ACTIVATIONS = {"gelu": gelu, "relu": relu, "tanh": tanh}


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

    With a bias, one kernel does it all where it can (GELU or a residual, N and K multiples of
    four); otherwise the same comes from its parts.

    Args:
        x: (..., K) float32.
        weight: (N, K) float32, PyTorch's layout.
        bias: (N) float32, or None.
        activation: "gelu" (tanh form), "relu", "tanh", or None.
        residual: (..., N) float32 added to the result, or None.

    Returns:
        (..., N) float32.

    Raises:
        ShapeError: shapes that do not fit, or an unknown activation.
    """
    spec = linear_spec(x.shape, weight.shape, bias.shape if bias is not None else None)
    if activation is not None and activation not in ACTIVATIONS:
        raise ShapeError("linear: unknown activation.", expected=", ".join(ACTIVATIONS),
                         received=activation)
    if residual is not None:
        require_equal("linear: the residual", spec.shape, residual.shape)
    require_float32("linear", *(t for t in (x, weight, bias, residual) if t is not None))
    fusable = bias is not None and is_fusable(*weight.shape)
    if fusable and activation == "gelu" and residual is None:
        return _fused(x, weight, bias, spec, "linear_gelu")
    if fusable and activation is None and residual is not None:
        return _fused(x, weight, bias, spec, "linear_residual", residual)
    if fusable:
        y = _fused(x, weight, bias, spec, "linear")
    else:
        y = _product(x, weight, spec)
        y = y if bias is None else add(y, bias)
    y = y if activation is None else ACTIVATIONS[activation](y)
    return y if residual is None else add(y, residual)


def _product(x: Tensor, weight: Tensor, spec: Spec) -> Tensor:
    n, k = weight.shape
    out = Tensor.empty(spec.shape, label="linear")
    launch_product("matmul_nt", out.region, x.region, weight.region, (spec.size // n, n, k))
    return track(out, "linear", _linear_backward, [x, weight])


def _fused(x: Tensor, weight: Tensor, bias: Tensor | None, spec: Spec, op: str,
           residual: Tensor | None = None) -> Tensor:
    """One kernel: the product, the bias, and the GELU or the residual."""
    assert bias is not None
    device = current_device()
    n, k = weight.shape
    rows = spec.size // n
    out = Tensor.empty(spec.shape, label=op)
    regions = {"out": out.region, "a": x.region, "b": weight.region, "bias": bias.region}
    inputs = [x, weight, bias]
    pre = None
    if op == "linear_gelu":
        pre = regions["pre"] = device.temporary(spec.size * ITEM_BYTES, "before gelu")
    if residual is not None:
        regions["residual"] = residual.region
        inputs.append(residual)
    variant = choose(op, rows, n, k, device.info)
    device.launch(variant.kernel, {"M": rows, "N": n, "K": k}, variant.consts, flops=spec.flops,
                  **regions)
    return track(out, op, _linear_backward, inputs, pre=pre)


def _linear_backward(record: OpRecord, gradient: Region) -> None:
    """dx = ds W; dW = dsᵀ x; db = the sum of ds over the rows; s comes before the activation."""
    x, weight = record.inputs[:2]
    n, k = weight.shape
    rows = x.size // k
    pre: Region | None = record.attributes.get("pre")
    if len(record.inputs) == 4:
        share(record, 3, gradient)
    if pre is not None:
        gradient = _through_gelu(pre, gradient, rows * n)
    target = sink(record, 0)
    if target is not None:
        launch_product("matmul_nn", target[0], gradient, weight.region, (rows, k, n), target[1])
    target = sink(record, 1)
    if target is not None:
        launch_product("matmul_tn", target[0], gradient, x.region, (n, k, rows), target[1])
    target = sink(record, 2) if len(record.inputs) > 2 else None
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
