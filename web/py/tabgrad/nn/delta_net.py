"""Gated DeltaNet: attention with a state of fixed size instead of a cache that grows."""

from __future__ import annotations

import math

import numpy as np

from tabgrad import ops
from tabgrad.nn.init import Initializer
from tabgrad.nn.layers import Linear
from tabgrad.nn.module import Module
from tabgrad.nn.parameter import Parameter
from tabgrad.nn.past import WHOLE, StatePast
from tabgrad.nn.rms_norm import GatedRMSNorm
from tabgrad.tensor import Tensor

LARGEST_DECAY = 16.0  # initial decay rates of the heads are spread up to it, as in Mamba


class ShortConvolution(Module):
    """weight (C, K): each channel's weights for the last K positions, its own last."""

    def __init__(self, channels: int, kernel: int, init: Initializer) -> None:
        shape = (channels, kernel)
        self.weight = Parameter.lazy(shape, True, init.later(shape, 1.0 / math.sqrt(kernel)))


class DeltaNet(Module):
    """The weights of one linear-attention layer.

    Args:
        hidden_size: C.
        heads: (HK, HV), heads of queries and keys, and of values; HV is a multiple of HK.
        dims: (DK, DV), channels of a key head and of a value head.
        kernel: positions that the short convolution sees.
        eps: of the gated norm.
        init: where the weights are drawn from.
        std: standard deviation of the weights that read x.
        output_std: standard deviation of out_proj.

    Source: Yang, Kautz, Hatamizadeh, "Gated Delta Networks: improving Mamba2 with delta rule",
    2024; the layer as in Qwen3.5.
    """

    def __init__(self, hidden_size: int, heads: tuple[int, int], dims: tuple[int, int],
                 kernel: int, eps: float, *, init: Initializer, std: float,
                 output_std: float) -> None:
        self.heads, self.dims, self.kernel = heads, dims, kernel
        values = heads[1] * dims[1]
        self.channels = 2 * heads[0] * dims[0] + values
        self.in_proj_qkv = Linear(hidden_size, self.channels, bias=False, init=init, std=std)
        self.in_proj_z = Linear(hidden_size, values, bias=False, init=init, std=std)
        self.in_proj_b = Linear(hidden_size, heads[1], bias=False, init=init, std=std)
        self.in_proj_a = Linear(hidden_size, heads[1], bias=False, init=init, std=std)
        self.conv1d = ShortConvolution(self.channels, kernel, init)
        self.A_log = Parameter.lazy((heads[1],), False, lambda: np.log(
            np.linspace(1.0, LARGEST_DECAY, heads[1], dtype=np.float32)))
        self.dt_bias = Parameter.constant(heads[1], 1.0)
        self.norm = GatedRMSNorm(dims[1], eps)
        self.out_proj = Linear(values, hidden_size, bias=False, init=init, std=output_std)

    def __call__(self, x: Tensor, residual: Tensor | None = None, *,
                 past: StatePast = WHOLE) -> Tensor:
        return delta_net(self, x, residual, past)


def delta_net(weights: DeltaNet, x: Tensor, residual: Tensor | None, past: StatePast) -> Tensor:
    """Each head's state decays, is corrected towards the new value, and answers the query.

    Args:
        weights: of the layer.
        x: (B, T, C).
        residual: (B, T, C), added to the result in the same kernel; None for none.
        past: what came before.

    Returns:
        (B, T, C).
    """
    (_, value_heads), (_, value_dim) = weights.heads, weights.dims
    qkv = weights.in_proj_qkv(x)                                         # (B, T, 2 HK DK + HV DV)
    qkv = past.convolution(qkv, weights.conv1d.weight)                   # (B, T, 2 HK DK + HV DV)
    decay, beta = ops.delta_gates(weights.in_proj_a(x), weights.in_proj_b(x), weights.A_log,
                                  weights.dt_bias)                       # (B, T, HV) each
    mixed = past.delta_rule(qkv, decay, beta, weights.heads, weights.dims)  # (B, T, HV·DV)
    by_head = (*x.shape[:-1], value_heads, value_dim)
    gate = weights.in_proj_z(x).reshape(*by_head)                        # (B, T, HV, DV)
    normed = weights.norm(mixed.reshape(*by_head), gate)                 # (B, T, HV, DV)
    flat = normed.reshape(*x.shape[:-1], value_heads * value_dim)        # (B, T, HV·DV)
    return weights.out_proj(flat, residual=residual)                     # (B, T, C)
