"""The decoder, top to bottom: ids in, logits out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tabgrad import ops
from tabgrad.autograd import no_grad
from tabgrad.errors import ShapeError
from tabgrad.models.decode import decode_step
from tabgrad.models.recipe import Recipe
from tabgrad.nn import (
    MLP,
    Attention,
    Embedding,
    Initializer,
    LayerNorm,
    Linear,
    Module,
    ParameterArena,
)
from tabgrad.tensor import Tensor


class Block(Module):
    """One layer: attention and MLP, each reading a normalised copy of the residual stream."""

    def __init__(self, recipe: Recipe, init: Initializer) -> None:
        std = recipe.initializer_range
        # 2 num_hidden_layers projections add to the stream: it keeps its variance at this scale.
        output_std = std / math.sqrt(2 * recipe.num_hidden_layers)
        self.ln_1 = LayerNorm(recipe.hidden_size, recipe.norm_eps)
        self.attn = Attention(recipe.hidden_size, recipe.num_attention_heads,
                              recipe.num_key_value_heads, init=init, std=std,
                              output_std=output_std)
        self.ln_2 = LayerNorm(recipe.hidden_size, recipe.norm_eps)
        self.mlp = MLP(recipe.hidden_size, recipe.intermediate_size, init=init, std=std,
                       output_std=output_std)


def block(weights: Block, x: Tensor) -> Tensor:
    """x + attention(ln_1(x)), then that + mlp(ln_2(that)): (B, T, C) -> (B, T, C)."""
    x = weights.attn(weights.ln_1(x), residual=x)                        # (B, T, C)
    return weights.mlp(weights.ln_2(x), residual=x)                      # (B, T, C)


class Transformer(Module):
    """Everything below the head, under GPT-2's names."""

    def __init__(self, recipe: Recipe, init: Initializer) -> None:
        std = recipe.initializer_range
        self.wte = Embedding(recipe.vocab_size, recipe.hidden_size, init=init, std=std)
        self.wpe = Embedding(recipe.max_position_embeddings, recipe.hidden_size, init=init,
                             std=std)
        self.h = [Block(recipe, init) for _ in range(recipe.num_hidden_layers)]
        self.ln_f = LayerNorm(recipe.hidden_size, recipe.norm_eps)


class Decoder(Module):
    """A language model of ids: `decoder(ids)` are the logits of the id that follows each.

    Args:
        recipe: its sizes.
        seed: of the initial weights: N(0, initializer_range²), the two projections of each block
            that write into the residual stream N(0, initializer_range² / (2 num_hidden_layers)),
            biases 0, gains 1.
        trainable: whether it gets a gradient buffer; generation needs none.

    `arena` holds its weights and gradients.

    Source: Radford et al., "Language models are unsupervised multitask learners", 2019.
    """

    def __init__(self, recipe: Recipe, seed: int, *, trainable: bool = True) -> None:
        init = Initializer(seed)
        self.recipe = recipe
        self.transformer = Transformer(recipe, init)
        self.lm_head = None if recipe.tie_word_embeddings else Linear(
            recipe.hidden_size, recipe.vocab_size, bias=False, init=init,
            std=recipe.initializer_range)
        self.arena = ParameterArena(self, trainable=trainable)

    def __call__(self, ids: Tensor) -> Tensor:
        """Logits (B, T, V) for ids (B, T) uint32, T <= max_position_embeddings."""
        return self.head(hidden_states(self, ids))

    def loss(self, ids: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy in nats: targets (B, T) are the ids that follow ids (B, T)."""
        return ops.cross_entropy(self(ids), targets)                     # ()

    def head(self, x: Tensor) -> Tensor:
        """Logits (..., V) for (..., C): one product with the head, or with the table of ids."""
        tied = self.transformer.wte.weight
        return ops.linear(x, tied if self.lm_head is None else self.lm_head.weight)

    def decode_step(self, token: Tensor, position: Tensor, caches: Sequence[Tensor]) -> Tensor:
        """Logits (1, V) of the id after `token` (1) at `position` (1); see `models.decode`."""
        with no_grad():
            return decode_step(self, token, position, caches)


def hidden_states(decoder: Decoder, ids: Tensor) -> Tensor:
    """What the head reads: ids (B, T) -> (B, T, C).

    Raises:
        ShapeError: ids of another rank, or more positions than the decoder has.
    """
    limit = decoder.recipe.max_position_embeddings
    if ids.ndim != 2 or ids.shape[1] > limit:
        raise ShapeError("decoder: ids are a batch of contexts.",
                         expected=f"(B, T) with T up to {limit}", received=str(ids.shape))
    weights = decoder.transformer
    positions = weights.wpe.weight.first_rows(ids.shape[1])              # (T, C)
    x = ops.add(weights.wte(ids), positions)                             # (B, T, C)
    for layer in weights.h:
        x = block(layer, x)                                              # (B, T, C)
    return weights.ln_f(x)                                               # (B, T, C)
