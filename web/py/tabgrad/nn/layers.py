"""The layers with weights of their own: linear, layer norm, embedding."""

from __future__ import annotations

import math

from tabgrad import ops
from tabgrad.nn.init import Initializer, default_initializer
from tabgrad.nn.low_rank import LowRank, project
from tabgrad.nn.module import Module
from tabgrad.nn.parameter import Parameter
from tabgrad.tensor import Tensor


class Linear(Module):
    """y = x Wᵀ + b.

    Args:
        in_features: the width of x.
        out_features: the width of y.
        bias: whether there is a b.
        init: where the weight (out_features, in_features) is drawn from; b starts at 0.
        std: its standard deviation; 1 / sqrt(in_features) if None.

    `weight` is (out, in), `bias` (out), as in PyTorch. x is (..., in), y (..., out). `adapters` are
    added to the product; there are none until somebody attaches one.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *,
                 init: Initializer | None = None, std: float | None = None) -> None:
        draw = init or default_initializer()
        deviation = 1.0 / math.sqrt(in_features) if std is None else std
        shape = (out_features, in_features)
        self.weight = Parameter.lazy(shape, True, draw.later(shape, deviation))
        self.bias = Parameter.constant(out_features, 0.0) if bias else None
        self.adapters: list[LowRank] = []

    def __call__(self, x: Tensor, *, activation: str | None = None,
                 residual: Tensor | None = None) -> Tensor:
        return project(x, self.weight, self.bias, self.adapters, activation=activation,
                       residual=residual)


class LayerNorm(Module):
    """y = (x - mean) / sqrt(variance + eps) * weight + bias, over the last axis.

    Args:
        width: the length of the last axis, C; `weight` and `bias` are (C).
        eps: added to the variance.

    Source: Ba, Kiros, Hinton, "Layer normalization", 2016.
    """

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        self.weight = Parameter.constant(width, 1.0)
        self.bias = Parameter.constant(width, 0.0)
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        return ops.layernorm(x, self.weight, self.bias, self.eps)


class Embedding(Module):
    """Row `id` of a table for each id.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: their width; `weight` is (num_embeddings, embedding_dim).
        init: where the table is drawn from.
        std: its standard deviation.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, *,
                 init: Initializer | None = None, std: float = 1.0) -> None:
        draw = init or default_initializer()
        shape = (num_embeddings, embedding_dim)
        self.weight = Parameter.lazy(shape, True, draw.later(shape, std))

    def __call__(self, ids: Tensor) -> Tensor:
        return ops.embedding(ids, self.weight)
