"""A product with frozen weights, and what low-rank adapters add to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tabgrad import ops
from tabgrad.ops.linear import ACTIVATIONS
from tabgrad.tensor import Tensor


@dataclass(frozen=True, eq=False)
class LowRank:
    """One adapter of one product: columns first to first + rows - 1 get scale (x aᵀ) bᵀ.

    Args:
        first: the column of the product where it begins.
        rows: how many columns it adds to.
        a: (r, in) float32.
        b: (rows, r) float32.
        scale: (1) float32, alpha / r times the weight that the adapter has now.
        dropout: of the adapter's input; None for none.

    Source: Hu et al., "LoRA: low-rank adaptation of large language models", 2021.
    """

    first: int
    rows: int
    a: Tensor
    b: Tensor
    scale: Tensor
    dropout: Callable[[Tensor], Tensor] | None = None

    def add_to(self, y: Tensor, x: Tensor) -> Tensor:
        """y (..., M) with the adapter's part added, from x (..., in) that y was made of."""
        kept = x if self.dropout is None else self.dropout(x)            # (..., in)
        narrow = ops.linear(kept, self.a)                                # (..., r)
        delta = ops.linear(narrow, self.b)                               # (..., rows)
        return ops.add_columns(y, delta, self.first, self.scale)             # (..., M)


def project(x: Tensor, weight: Tensor, bias: Tensor | None, adapters: Sequence[LowRank], *,
            activation: str | None = None, residual: Tensor | None = None) -> Tensor:
    """activation(x weightᵀ + bias + adapters) + residual.

    Without adapters it is `ops.linear`, and with them the base's product is the very same kernel
    (the adapters come after the residual), so that adapters which add 0 change no bit. An
    activation cannot be fused then: it follows in a kernel of its own, which gives the same bits
    as long as no measured variant sums the fused product in another order.

    Args:
        x: (..., K) float32.
        weight: (N, K).
        bias: (N), or None.
        adapters: of this product.
        activation: see `ops.linear`.
        residual: (..., N), or None.

    Returns:
        (..., N) float32.
    """
    if not adapters:
        return ops.linear(x, weight, bias, activation=activation, residual=residual)
    y = ops.linear(x, weight, bias, residual=None if activation else residual)   # (..., N)
    y = _adapted(y, x, adapters)                                                 # (..., N)
    if activation is None:
        return y
    y = ACTIVATIONS[activation](y)                                               # (..., N)
    return y if residual is None else ops.add(y, residual)                       # (..., N)


def project_gated(x: Tensor, weight: Tensor, bias: Tensor | None, adapters: Sequence[LowRank],
                  activation: str) -> Tensor:
    """activation(gate) * up of the product x weightᵀ + bias + adapters: (..., K) -> (..., F).

    Args and fusing as in `project`; weight is (2 F, K), see `ops.linear_gated`.
    """
    if not adapters:
        return ops.linear_gated(x, weight, bias, activation)             # (..., F)
    gate_up = project(x, weight, bias, adapters)                         # (..., 2 F)
    return ops.gated(gate_up, activation)                                # (..., F)


def _adapted(y: Tensor, x: Tensor, adapters: Sequence[LowRank]) -> Tensor:
    for adapter in adapters:
        y = adapter.add_to(y, x)
    return y
