"""Root mean square norm, and the form that a gate scales."""

from __future__ import annotations

from tabgrad import ops
from tabgrad.nn.module import Module
from tabgrad.nn.parameter import Parameter
from tabgrad.tensor import Tensor


class RMSNorm(Module):
    """y = x / sqrt(mean(x²) + eps) * (offset + weight), over the last axis.

    Args:
        width: the length of the last axis, C; `weight` is (C).
        eps: added to the mean square.
        offset: added to the gains; the initial gains make the sum 1.

    Source: Zhang, Sennrich, "Root mean square layer normalization", 2019.
    """

    def __init__(self, width: int, eps: float = 1e-6, offset: float = 0.0) -> None:
        self.weight = Parameter.constant(width, 1.0 - offset)
        self.eps = eps
        self.offset = offset

    def __call__(self, x: Tensor) -> Tensor:
        return ops.rmsnorm(x, self.weight, self.eps, self.offset)


class GatedRMSNorm(Module):
    """y = x / sqrt(mean(x²) + eps) * weight * silu(gate), over the last axis.

    Args:
        width: the length of the last axis; `weight` is (width).
        eps: added to the mean square.
    """

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        self.weight = Parameter.constant(width, 1.0)
        self.eps = eps

    def __call__(self, x: Tensor, gate: Tensor) -> Tensor:
        return ops.gated_rmsnorm(x, gate, self.weight, self.eps)
