"""The first half of a gated MLP: two products, and the activation between them."""

from __future__ import annotations

from tabgrad.autograd import leaves_records
from tabgrad.errors import ShapeError
from tabgrad.gpu.adapter_class import runs_on_cpu
from tabgrad.gpu.device import current_device
from tabgrad.gpu.variants import ROW, ROW_IN_LANES
from tabgrad.ops.gated import ACTIVATIONS, gated
from tabgrad.ops.linear import linear, linear_spec
from tabgrad.ops.row_ranges import row_ranges
from tabgrad.ops.spec import Shape, Spec, require_float32, spec_of
from tabgrad.reference.stored import FORMATS
from tabgrad.tensor import Tensor

COLUMNS = 4  # results of one invocation


def linear_gated_spec(x: Shape, weight: Shape, bias: Shape | None = None) -> Spec:
    """(..., K), weight (2 F, K), bias (2 F) -> (..., F).

    Example:
        >>> linear_gated_spec((4, 64, 128), (1024, 128)).shape
        (4, 64, 512)

    Raises:
        ShapeError: shapes that do not fit, or an odd number of outputs.
    """
    product = linear_spec(x, weight, bias)
    if weight[0] % 2:
        raise ShapeError("linear_gated: the weight has as many rows of gate as of up.",
                         expected="(2 F, K)", received=str(weight))
    inputs = [x, weight] if bias is None else [x, weight, bias]
    return spec_of((*x[:-1], weight[0] // 2), inputs, flops=product.flops + 4 * product.size)


def linear_gated(x: Tensor, weight: Tensor, bias: Tensor | None = None,
                 activation: str = "silu") -> Tensor:
    """activation(x gateᵀ + its bias) * (x upᵀ + its bias).

    For one row that nobody differentiates, which is what a decoder has, one kernel does it all.

    Args:
        x: (..., K) float32.
        weight: (2 F, K) float32 or in 16 bits: F rows of gate, then F rows of up.
        bias: (2 F) float32, or None.
        activation: "silu" or "gelu" (tanh form).

    Returns:
        (..., F) float32.

    Raises:
        ShapeError: shapes that do not fit, or an unknown activation.
    """
    spec = linear_gated_spec(x.shape, weight.shape, None if bias is None else bias.shape)
    if bias is not None or not _is_fusable(x, weight) or activation not in ACTIVATIONS:
        return gated(linear(x, weight, bias), activation)
    require_float32("linear_gated", x)
    device = current_device()
    out = Tensor.empty(spec.shape, label="linear_gated")
    shape = ROW if runs_on_cpu(device.info) else ROW_IN_LANES
    device.launch("linear_gated_row_forward",
                  {"M": 1, "F": spec.shape[-1], "K": x.shape[-1]},
                  {**shape, "COLUMNS": 2 * COLUMNS, "ACTIVATION": ACTIVATIONS.index(activation),
                   "STORED": FORMATS.index(weight.dtype)},
                  flops=spec.flops, out=out.region, a=x.region, b=weight.region)
    return out


def _is_fusable(x: Tensor, weight: Tensor) -> bool:
    block = 4 if weight.dtype == "float32" else 8
    return (x.size == x.shape[-1] and x.size % block == 0 and weight.shape[0] % (2 * COLUMNS) == 0
            and len(row_ranges(weight)) == 1 and not leaves_records([x, weight]))
