"""The two-layer perceptron of a block."""

from __future__ import annotations

from tabgrad.nn.init import Initializer, default_initializer
from tabgrad.nn.layers import Linear
from tabgrad.nn.module import Module
from tabgrad.tensor import Tensor


class MLP(Module):
    """The weights: c_fc widens, c_proj writes back.

    Args:
        hidden_size: C.
        intermediate_size: F, the width inside.
        init: where the weights are drawn from.
        std: standard deviation of c_fc; 1 / sqrt(C) if None.
        output_std: standard deviation of c_proj, which writes into the residual stream.

    c_fc.weight is (F, C), c_proj.weight (C, F).
    """

    def __init__(self, hidden_size: int, intermediate_size: int, *,
                 init: Initializer | None = None, std: float | None = None,
                 output_std: float | None = None) -> None:
        draw = init or default_initializer()
        self.c_fc = Linear(hidden_size, intermediate_size, init=draw, std=std)
        self.c_proj = Linear(intermediate_size, hidden_size, init=draw, std=output_std)

    def __call__(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        return mlp(self, x, residual)


def mlp(weights: MLP, x: Tensor, residual: Tensor | None = None) -> Tensor:
    """c_proj(gelu(c_fc(x))), with GELU in its tanh form.

    Args:
        weights: of the layer.
        x: (..., C).
        residual: (..., C), added to the result in the same kernel.

    Returns:
        (..., C).
    """
    hidden = weights.c_fc(x, activation="gelu")                          # (..., F)
    return weights.c_proj(hidden, residual=residual)                     # (..., C)
