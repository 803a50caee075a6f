"""Head: logits of what the last layer gives, and their loss, from all at once or in chunks."""

from __future__ import annotations

from tabgrad import ops
from tabgrad.nn import Embedding, Linear
from tabgrad.ops.linear_cross_entropy import MOST_BYTES
from tabgrad.tensor import ITEM_BYTES, Tensor


class Head:
    """One product with a matrix of its own, or with the table of ids.

    Args:
        lm_head: the matrix (V, C) and its bias; None where the head is tied.
        embed_tokens: the table of ids (V, C).
        cap: logits become cap tanh(logits / cap); None for none.
    """

    def __init__(self, lm_head: Linear | None, embed_tokens: Embedding,
                 cap: float | None) -> None:
        self._lm_head, self._embed_tokens, self._cap = lm_head, embed_tokens, cap

    def __call__(self, x: Tensor) -> Tensor:
        """Logits (..., V) for (..., C)."""
        logits = (ops.linear(x, self._embed_tokens.weight) if self._lm_head is None
                  else self._lm_head(x))
        return logits if self._cap is None else ops.softcap(logits, self._cap)

    def loss(self, x: Tensor, targets: Tensor, weight: Tensor | None) -> Tensor:
        """Cross-entropy of the logits.

        Logits of more than 32 MiB are never made whole: their chunks are computed once more in the
        backward. A head with adapters is a product of several parts, and makes them all at once.

        Args:
            x: (B, T, C), the last hidden states.
            targets: (B, T) uint32.
            weight: (1) float32 or None, see `ops.cross_entropy`.

        Returns:
            A scalar.
        """
        matrix = self._embed_tokens if self._lm_head is None else self._lm_head
        is_small = targets.size * matrix.weight.shape[0] * ITEM_BYTES <= MOST_BYTES
        if is_small or (self._lm_head is not None and self._lm_head.adapters):
            return ops.cross_entropy(self(x), targets, weight)
        bias = None if self._lm_head is None else self._lm_head.bias
        return ops.linear_cross_entropy(x, matrix.weight, targets, weight, bias=bias,
                                        cap=self._cap)
