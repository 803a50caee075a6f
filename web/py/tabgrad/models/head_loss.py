"""The loss of what the head reads: from all logits at once, or in chunks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tabgrad import ops
from tabgrad.ops.linear_cross_entropy import MOST_BYTES
from tabgrad.tensor import ITEM_BYTES, Tensor

if TYPE_CHECKING:
    from tabgrad.models.decoder import Decoder


def head_loss(decoder: Decoder, x: Tensor, targets: Tensor, weight: Tensor | None) -> Tensor:
    """Cross-entropy of the decoder's head.

    Logits of more than 32 MiB are never made whole: their chunks are computed once more in the
    backward. A head with adapters is a product of several parts, and makes them all at once.

    Args:
        decoder: whose head.
        x: (B, T, C), the last hidden states.
        targets: (B, T) uint32.
        weight: (1) float32 or None, see `ops.cross_entropy`.

    Returns:
        A scalar.
    """
    head = decoder.lm_head
    logits_bytes = targets.size * decoder.recipe.vocab_size * ITEM_BYTES
    if logits_bytes <= MOST_BYTES or (head is not None and head.adapters):
        return ops.cross_entropy(decoder.head(x), targets, weight)
    return ops.linear_cross_entropy(
        x, decoder.model.embed_tokens.weight if head is None else head.weight, targets, weight,
        bias=None if head is None else head.bias, cap=decoder.recipe.final_logit_softcapping)
