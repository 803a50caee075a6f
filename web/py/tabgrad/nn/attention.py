"""Causal self-attention with queries, keys and values as modules of their own."""

from __future__ import annotations

from tabgrad import ops
from tabgrad.nn.init import Initializer, default_initializer
from tabgrad.nn.layers import Linear
from tabgrad.nn.module import Module
from tabgrad.nn.parameter import Joined
from tabgrad.tensor import Tensor


class Attention(Module):
    """The weights of one attention layer.

    Args:
        hidden_size: C, the width of the residual stream.
        num_attention_heads: H, the query heads; D = C / H.
        num_key_value_heads: Hk, the key and value heads; each serves H / Hk query heads.
        init: where the weights are drawn from.
        std: standard deviation of q_proj, k_proj and v_proj; 1 / sqrt(C) if None.
        output_std: standard deviation of o_proj, which writes into the residual stream.

    q_proj.weight is (H·D, C), k_proj.weight and v_proj.weight (Hk·D, C), o_proj.weight (C, H·D).
    """

    def __init__(self, hidden_size: int, num_attention_heads: int,
                 num_key_value_heads: int | None = None, *, init: Initializer | None = None,
                 std: float | None = None, output_std: float | None = None) -> None:
        draw = init or default_initializer()
        self.num_attention_heads = num_attention_heads
        self.num_key_value_heads = num_key_value_heads or num_attention_heads
        head_dim = hidden_size // num_attention_heads
        keys = self.num_key_value_heads * head_dim
        self.q_proj = Linear(hidden_size, hidden_size, init=draw, std=std)
        self.k_proj = Linear(hidden_size, keys, init=draw, std=std)
        self.v_proj = Linear(hidden_size, keys, init=draw, std=std)
        self.o_proj = Linear(hidden_size, hidden_size, init=draw, std=output_std)
        qkv = (self.q_proj, self.k_proj, self.v_proj)
        self.qkv_weight = Joined([layer.weight for layer in qkv])
        self.qkv_bias = Joined([layer.bias for layer in qkv if layer.bias is not None])

    def __call__(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        return attention(self, x, residual)


def project_qkv(weights: Attention, x: Tensor) -> Tensor:
    """Queries, keys and values of every position, side by side.

    One product with the three matrices joined: (B, T, C) -> (B, T, (H + 2 Hk)·D).
    """
    return ops.linear(x, weights.qkv_weight.tensor, weights.qkv_bias.tensor)


def attention(weights: Attention, x: Tensor, residual: Tensor | None = None) -> Tensor:
    """softmax(q kᵀ / sqrt(D)) v per head, over the positions up to each one's own; then o_proj.

    Args:
        weights: of the layer.
        x: (B, T, C).
        residual: (B, T, C), added to the result in the same kernel.

    Returns:
        (B, T, C).

    Source: Vaswani et al., "Attention is all you need", 2017.
    """
    qkv = project_qkv(weights, x)                                        # (B, T, (H + 2 Hk)·D)
    mixed = ops.attention(qkv, weights.num_attention_heads,
                          weights.num_key_value_heads)                   # (B, T, H·D)
    return weights.o_proj(mixed, residual=residual)                      # (B, T, C)
