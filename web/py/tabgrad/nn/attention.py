"""Causal self-attention with queries, keys and values as modules of their own."""

from __future__ import annotations

import math

from tabgrad import ops
from tabgrad.nn.heads import gather_heads, padded_dim, spread_heads
from tabgrad.nn.init import Initializer, default_initializer
from tabgrad.nn.layers import Linear
from tabgrad.nn.low_rank import project
from tabgrad.nn.module import Module
from tabgrad.nn.parameter import Joined
from tabgrad.nn.past import WHOLE, AttentionPast
from tabgrad.nn.rms_norm import RMSNorm
from tabgrad.tensor import Tensor


class Attention(Module):
    """The weights of one attention layer.

    Args:
        hidden_size: C, the width of the residual stream.
        num_attention_heads: H, the query heads.
        num_key_value_heads: Hk, the key and value heads; each serves H / Hk query heads.
        head_dim: D; C / H if 0.
        bias: of queries, keys and values.
        output_bias: of o_proj.
        scale: of the scores; 1 / sqrt(D) if None.
        window: how many positions each one sees; 0 for all before it.
        qk_norm: (eps, offset) of an RMS norm of each query and key head; None for none.
        gated: whether a gate scales what o_proj reads (g_proj).
        init: where the weights are drawn from.
        std: standard deviation of the weights that read x; 1 / sqrt(C) if None.
        output_std: standard deviation of o_proj, which writes into the residual stream.

    q_proj.weight is (H·D, C), k_proj.weight and v_proj.weight (Hk·D, C), o_proj.weight (C, H·D).
    """

    def __init__(self, hidden_size: int, num_attention_heads: int,
                 num_key_value_heads: int | None = None, *, head_dim: int = 0, bias: bool = True,
                 output_bias: bool = True, scale: float | None = None, window: int = 0,
                 qk_norm: tuple[float, float] | None = None, gated: bool = False,
                 init: Initializer | None = None, std: float | None = None,
                 output_std: float | None = None) -> None:
        draw = init or default_initializer()
        self.num_attention_heads = num_attention_heads
        self.num_key_value_heads = num_key_value_heads or num_attention_heads
        self.head_dim = head_dim or hidden_size // num_attention_heads
        self.scale = 1.0 / math.sqrt(self.head_dim) if scale is None else scale
        self.window = window
        queries, keys = (heads * self.head_dim
                         for heads in (num_attention_heads, self.num_key_value_heads))
        self.q_proj = Linear(hidden_size, queries, bias, init=draw, std=std)
        self.k_proj = Linear(hidden_size, keys, bias, init=draw, std=std)
        self.v_proj = Linear(hidden_size, keys, bias, init=draw, std=std)
        self.o_proj = Linear(queries, hidden_size, output_bias, init=draw, std=output_std)
        self.g_proj = Linear(hidden_size, queries, bias, init=draw, std=std) if gated else None
        self.q_norm = None if qk_norm is None else RMSNorm(self.head_dim, *qk_norm)
        self.k_norm = None if qk_norm is None else RMSNorm(self.head_dim, *qk_norm)
        qkv = (self.q_proj, self.k_proj, self.v_proj)
        self.qkv_weight = Joined([layer.weight for layer in qkv])
        biases = [layer.bias for layer in qkv if layer.bias is not None]
        self.qkv_bias = Joined(biases) if biases else None

    @property
    def cache_width(self) -> int:
        """Numbers that a cache keeps of each position: its keys and values."""
        return 2 * self.num_key_value_heads * padded_dim(self.head_dim)

    def __call__(self, x: Tensor, residual: Tensor | None = None, *, table: Tensor | None = None,
                 past: AttentionPast = WHOLE) -> Tensor:
        return attention(self, x, residual, table, past)


def attention(weights: Attention, x: Tensor, residual: Tensor | None, table: Tensor | None,
              past: AttentionPast) -> Tensor:
    """softmax(scale q kᵀ) v per head, over the positions up to each one's own; then o_proj.

    Args:
        weights: of the layer.
        x: (B, T, C).
        residual: (B, T, C), added to the result in the same kernel; None for none.
        table: (R, r) cosines and sines that turn queries and keys; None turns nothing.
        past: what came before.

    Returns:
        (B, T, C).

    Source: Vaswani et al., "Attention is all you need", 2017; rotary positions: Su et al.,
    "RoFormer", 2021; grouped queries: Ainslie et al., "GQA", 2023.
    """
    heads, groups = weights.num_attention_heads, weights.num_key_value_heads
    qkv = project_qkv(weights, x)                                  # (B, T, (H + 2 Hk)·D)
    qkv = turn(weights, qkv, table, past.span)                     # (B, T, (H + 2 Hk)·D)
    qkv = spread_heads(qkv, heads + 2 * groups, weights.head_dim)  # D: a multiple of four
    mixed = past.attention(qkv, heads, groups, scale=weights.scale,
                           window=weights.window)                  # (B, T, H·D)
    mixed = gather_heads(mixed, heads, weights.head_dim)           # (B, T, H·D)
    if weights.g_proj is not None:
        mixed = ops.sigmoid_gate(mixed, weights.g_proj(x))         # (B, T, H·D)
    return weights.o_proj(mixed, residual=residual)                # (B, T, C)


def project_qkv(weights: Attention, x: Tensor) -> Tensor:
    """Queries, keys and values of every position, side by side.

    One product with the three matrices joined: (B, T, C) -> (B, T, (H + 2 Hk)·D).
    """
    bias = None if weights.qkv_bias is None else weights.qkv_bias.tensor
    return project(x, weights.qkv_weight.tensor, bias, weights.qkv_weight.adapters)


def turn(weights: Attention, qkv: Tensor, table: Tensor | None, span: Tensor | None) -> Tensor:
    """Normalises and turns query and key heads, where the model does: the shape stays."""
    if weights.q_norm is None or weights.k_norm is None:
        if table is None:
            return qkv
        return ops.rotary(qkv, table, weights.num_attention_heads, weights.num_key_value_heads,
                          span=span)
    return ops.rotary(qkv, table, weights.num_attention_heads, weights.num_key_value_heads,
                      span=span, query_norm=weights.q_norm.weight, key_norm=weights.k_norm.weight,
                      eps=weights.q_norm.eps, norm_offset=weights.q_norm.offset)
