"""The perceptron of a block: plain, gated, or a mixture of experts."""

from __future__ import annotations

from tabgrad import ops
from tabgrad.nn.init import Initializer, default_initializer
from tabgrad.nn.layers import Linear
from tabgrad.nn.low_rank import project_gated
from tabgrad.nn.module import Module
from tabgrad.nn.parameter import Joined, Parameter
from tabgrad.tensor import Tensor


class MLP(Module):
    """The weights: up_proj widens, down_proj writes back.

    Args:
        hidden_size: C.
        intermediate_size: F, the width inside.
        activation: "gelu" (tanh form), "relu" or "tanh".
        bias: of both matrices.
        init: where the weights are drawn from.
        std: standard deviation of up_proj; 1 / sqrt(C) if None.
        output_std: standard deviation of down_proj, which writes into the residual stream.

    up_proj.weight is (F, C), down_proj.weight (C, F).
    """

    def __init__(self, hidden_size: int, intermediate_size: int, *, activation: str = "gelu",
                 bias: bool = True, init: Initializer | None = None, std: float | None = None,
                 output_std: float | None = None) -> None:
        draw = init or default_initializer()
        self.activation = activation
        self.up_proj = Linear(hidden_size, intermediate_size, bias, init=draw, std=std)
        self.down_proj = Linear(intermediate_size, hidden_size, bias, init=draw, std=output_std)

    def __call__(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        return mlp(self, x, residual)


def mlp(weights: MLP, x: Tensor, residual: Tensor | None = None) -> Tensor:
    """down_proj(activation(up_proj(x))).

    Args:
        weights: of the layer.
        x: (..., C).
        residual: (..., C), added to the result in the same kernel.

    Returns:
        (..., C).
    """
    hidden = weights.up_proj(x, activation=weights.activation)           # (..., F)
    return weights.down_proj(hidden, residual=residual)                  # (..., C)


class GatedMLP(Module):
    """The weights of down_proj(activation(gate_proj(x)) * up_proj(x)).

    Args:
        hidden_size: C.
        intermediate_size: F, the width inside.
        activation: "silu" or "gelu" (tanh form).
        bias: of all three matrices.
        init: where the weights are drawn from.
        std: standard deviation of gate_proj and up_proj; 1 / sqrt(C) if None.
        output_std: standard deviation of down_proj.

    gate_proj.weight and up_proj.weight are (F, C), down_proj.weight is (C, F).

    Source: Shazeer, "GLU variants improve Transformer", 2020.
    """

    def __init__(self, hidden_size: int, intermediate_size: int, *, activation: str = "silu",
                 bias: bool = False, init: Initializer | None = None, std: float | None = None,
                 output_std: float | None = None) -> None:
        draw = init or default_initializer()
        self.activation = activation
        self.gate_proj = Linear(hidden_size, intermediate_size, bias, init=draw, std=std)
        self.up_proj = Linear(hidden_size, intermediate_size, bias, init=draw, std=std)
        self.down_proj = Linear(intermediate_size, hidden_size, bias, init=draw, std=output_std)
        pair = (self.gate_proj, self.up_proj)
        self.gate_up_weight = Joined([layer.weight for layer in pair])
        biases = [layer.bias for layer in pair if layer.bias is not None]
        self.gate_up_bias = Joined(biases) if biases else None

    def __call__(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        return gated_mlp(self, x, residual)


def gated_mlp(weights: GatedMLP, x: Tensor, residual: Tensor | None = None) -> Tensor:
    """down_proj(activation(gate_proj(x)) * up_proj(x)): (..., C) -> (..., C)."""
    bias = None if weights.gate_up_bias is None else weights.gate_up_bias.tensor
    hidden = project_gated(x, weights.gate_up_weight.tensor, bias,
                           weights.gate_up_weight.adapters, weights.activation)  # (..., F)
    return weights.down_proj(hidden, residual=residual)                  # (..., C)


class Experts(Module):
    """The matrices of all experts, stacked: gate_up_proj (E, 2F, C), down_proj (E, C, F)."""

    def __init__(self, num_experts: int, hidden_size: int, intermediate_size: int,
                 init: Initializer, std: float, output_std: float) -> None:
        wide = (num_experts, 2 * intermediate_size, hidden_size)
        back = (num_experts, hidden_size, intermediate_size)
        self.gate_up_proj = Parameter.lazy(wide, True, init.later(wide, std))
        self.down_proj = Parameter.lazy(back, True, init.later(back, output_std))


class MixtureOfExperts(Module):
    """A router and its experts: each position asks only a few of them.

    Args:
        hidden_size: C.
        intermediate_size: F, the width inside an expert.
        num_experts: E.
        num_experts_per_tok: how many each position asks.
        norm_topk_prob: whether their weights add up to 1.
        init: where the weights are drawn from.
        std: standard deviation of the weights that read x.
        output_std: standard deviation of down_proj.

    gate.weight, the router, is (E, C).

    Source: Shazeer et al., "Outrageously large neural networks", 2017; Jiang et al., "Mixtral of
    experts", 2024.
    """

    def __init__(self, hidden_size: int, intermediate_size: int, num_experts: int,
                 num_experts_per_tok: int, norm_topk_prob: bool, *, init: Initializer, std: float,
                 output_std: float) -> None:
        self.num_experts_per_tok = num_experts_per_tok
        self.norm_topk_prob = norm_topk_prob
        self.gate = Linear(hidden_size, num_experts, bias=False, init=init, std=std)
        self.experts = Experts(num_experts, hidden_size, intermediate_size, init, std, output_std)

    def __call__(self, x: Tensor, residual: Tensor | None = None,
                 balance: ops.Balance | None = None) -> Tensor:
        return mixture_of_experts(self, x, residual, balance)


def mixture_of_experts(weights: MixtureOfExperts, x: Tensor, residual: Tensor | None = None,
                       balance: ops.Balance | None = None) -> Tensor:
    """The chosen experts' outputs, weighted by the router: (..., C) -> (..., C)."""
    rows = x.reshape(-1, x.shape[-1])                                    # (N, C)
    logits = weights.gate(rows)                                          # (N, E)
    if balance is not None:
        logits = ops.balanced(logits, balance)                           # (N, E)
    out = ops.moe(rows, logits, weights.experts.gate_up_proj, weights.experts.down_proj,
                  weights.num_experts_per_tok, normalize=weights.norm_topk_prob)    # (N, C)
    out = out.reshape(*x.shape)                                          # (..., C)
    return out if residual is None else ops.add(residual, out)           # (..., C)
