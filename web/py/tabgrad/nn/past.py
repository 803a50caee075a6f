"""What a layer may look back on: the positions of its own input, or a cache of earlier ones.

The same layers train, read a prompt and write: only their past differs.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tabgrad import ops
from tabgrad.tensor import Tensor


class Past(Protocol):
    """What came before one layer's input; its kind of layer says what can be asked.

    Attributes:
        span: (2) uint32, the position of the first row and the number of rows that count; None
            where row t has position t.
    """

    span: Tensor | None


@runtime_checkable
class AttentionPast(Past, Protocol):
    """The past of an attention layer."""

    def attention(self, qkv: Tensor, query_heads: int, key_value_heads: int, *, scale: float,
                  window: int) -> Tensor:
        """See `ops.attention`: (B, T, (H + 2 Hk)·D) -> (B, T, H·D)."""


@runtime_checkable
class StatePast(Past, Protocol):
    """The past of a DeltaNet layer."""

    def convolution(self, x: Tensor, weight: Tensor) -> Tensor:
        """See `ops.short_convolution`: (B, T, C) -> (B, T, C)."""

    def delta_rule(self, qkv: Tensor, decay: Tensor, beta: Tensor, heads: tuple[int, int],
                   dims: tuple[int, int]) -> Tensor:
        """See `ops.delta_rule`: heads (HK, HV), dims (DK, DV) -> (B, T, HV·DV)."""


class Whole:
    """Each row of the batch is a whole text: nothing came before its first position."""

    span: Tensor | None = None

    def attention(self, qkv: Tensor, query_heads: int, key_value_heads: int, *, scale: float,
                  window: int) -> Tensor:
        """Over the positions of the same row."""
        return ops.attention(qkv, query_heads, key_value_heads, scale=scale, window=window)

    def convolution(self, x: Tensor, weight: Tensor) -> Tensor:
        """Zeros before the first position."""
        return ops.short_convolution(x, weight)

    def delta_rule(self, qkv: Tensor, decay: Tensor, beta: Tensor, heads: tuple[int, int],
                   dims: tuple[int, int]) -> Tensor:
        """A state of zeros before the first position."""
        return ops.delta_rule(qkv, decay, beta, *heads, *dims)


WHOLE = Whole()


class Packed:
    """Rows of several documents: a position looks back to the begin of its own, no further.

    Learned positions begin again with each document. Rotary ones count on through the row, because
    a score depends on the difference of two positions alone: frequencies are the same for a whole
    row. Dynamic ones follow the length of the row, as they do for one document that is filled up.

    Args:
        starts: (B, T) uint32, the first position of the row that each one may look at.
    """

    span: Tensor | None = None

    def __init__(self, starts: Tensor) -> None:
        self.starts = starts

    def attention(self, qkv: Tensor, query_heads: int, key_value_heads: int, *, scale: float,
                  window: int) -> Tensor:
        """Over the positions of the same document."""
        return ops.attention(qkv, query_heads, key_value_heads, scale=scale, window=window,
                             starts=self.starts)

    def convolution(self, x: Tensor, weight: Tensor) -> Tensor:
        """Zeros before the first position of a document."""
        return ops.short_convolution(x, weight, starts=self.starts)

    def delta_rule(self, qkv: Tensor, decay: Tensor, beta: Tensor, heads: tuple[int, int],
                   dims: tuple[int, int]) -> Tensor:
        """A state of zeros before the first position of a document."""
        return ops.delta_rule(qkv, decay, beta, *heads, *dims, starts=self.starts)
