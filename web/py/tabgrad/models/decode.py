"""The decoder for one position at a time, with the earlier keys and values from a cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tabgrad import ops
from tabgrad.models.recipe import Recipe
from tabgrad.nn.attention import project_qkv
from tabgrad.tensor import Tensor

if TYPE_CHECKING:
    from tabgrad.models.decoder import Block, Decoder


def cache_shape(recipe: Recipe) -> tuple[int, int]:
    """(S, 2 Hk·D): the keys and values that one block keeps of each position."""
    width = 2 * recipe.num_key_value_heads * recipe.head_dim
    return recipe.max_position_embeddings, width


def decode_step(decoder: Decoder, token: Tensor, position: Tensor,
                caches: Sequence[Tensor]) -> Tensor:
    """The logits of the id after `token`; its keys and values are added to the caches.

    Args:
        decoder: whose weights are read.
        token: (1) uint32.
        position: (1) uint32, where the token stands: data, so that one plan serves all positions.
        caches: for each block (S, 2 Hk·D) float32, filled for all positions before this one.

    Returns:
        (1, V), equal to the last row of `decoder(ids)` for the ids up to this one.
    """
    weights = decoder.transformer
    x = ops.add(weights.wte(token), weights.wpe(position))               # (1, C)
    for layer, cache in zip(weights.h, caches, strict=True):
        x = decode_block(layer, x, position, cache)                      # (1, C)
    return decoder.head(weights.ln_f(x))                                 # (1, V)


def decode_block(weights: Block, x: Tensor, position: Tensor, cache: Tensor) -> Tensor:
    """`block` for one position: (1, C) -> (1, C)."""
    attn = weights.attn
    qkv = project_qkv(attn, weights.ln_1(x))                             # (1, (H + 2 Hk)·D)
    mixed = ops.attention_decode(qkv, cache, position, attn.num_attention_heads,
                                 attn.num_key_value_heads)               # (1, H·D)
    x = attn.o_proj(mixed, residual=x)                                   # (1, C)
    return weights.mlp(weights.ln_2(x), residual=x)                      # (1, C)
