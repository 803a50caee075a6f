"""The decoder, top to bottom: ids in, logits out. One class trains, reads a prompt and writes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tabgrad import ops
from tabgrad.autograd import checkpoint
from tabgrad.errors import ShapeError
from tabgrad.models.head import Head
from tabgrad.models.recipe import LINEAR, Recipe
from tabgrad.models.rotary_tables import RotaryTables
from tabgrad.nn import (
    MLP,
    WHOLE,
    Attention,
    AttentionPast,
    DeltaNet,
    Embedding,
    GatedMLP,
    Initializer,
    LayerNorm,
    Linear,
    MixtureOfExperts,
    Module,
    Packed,
    ParameterArena,
    Past,
    RMSNorm,
    StatePast,
)
from tabgrad.tensor import ITEM_BYTES, Tensor

ACTIVATIONS = {"gelu_new": "gelu", "silu": "silu"}


class Block(Module):
    """One layer: a mixer of positions (attention or DeltaNet) and an MLP, each with its norms.

    The names are Llama's; which norms there are follows `recipe.block`:
    sequential  input_layernorm, mixer; post_attention_layernorm, MLP
    parallel    input_layernorm, then mixer and MLP side by side
    sandwich    input_layernorm, mixer, post_attention_layernorm; pre_feedforward_layernorm, MLP,
                post_feedforward_layernorm
    """

    def __init__(self, recipe: Recipe, layer: int, init: Initializer) -> None:
        self.kind = recipe.layer_types[layer]
        self.input_layernorm = make_norm(recipe)
        self.self_attn = None if self.kind == LINEAR else _attention(recipe, layer, init)
        self.linear_attn = _delta_net(recipe, init) if self.kind == LINEAR else None
        if recipe.block != "parallel":
            self.post_attention_layernorm = make_norm(recipe)
        if recipe.block == "sandwich":
            self.pre_feedforward_layernorm = make_norm(recipe)
        self.mlp = _mlp(recipe, layer, init)
        if recipe.block == "sandwich":
            self.post_feedforward_layernorm = make_norm(recipe)

    def mix(self, x: Tensor, residual: Tensor | None, table: Tensor | None, past: Past) -> Tensor:
        """Attention or DeltaNet over the positions: (B, T, C) -> (B, T, C)."""
        if self.linear_attn is not None:
            assert isinstance(past, StatePast)
            return self.linear_attn(x, residual, past=past)
        assert self.self_attn is not None and isinstance(past, AttentionPast)
        return self.self_attn(x, residual, table=table, past=past)

    def feed(self, x: Tensor, residual: Tensor | None, balance: ops.Balance | None) -> Tensor:
        """The MLP, or the experts that a balance watches: (B, T, C) -> (B, T, C)."""
        if isinstance(self.mlp, MixtureOfExperts):
            return self.mlp(x, residual, balance)
        return self.mlp(x, residual)


def sequential(weights: Block, x: Tensor, table: Tensor | None, past: Past,
               balance: ops.Balance | None) -> Tensor:
    """x + mixer(norm(x)), then that + mlp(norm(that)): (B, T, C) -> (B, T, C)."""
    x = weights.mix(weights.input_layernorm(x), x, table, past)          # (B, T, C)
    return weights.feed(weights.post_attention_layernorm(x), x, balance)  # (B, T, C)


def parallel(weights: Block, x: Tensor, table: Tensor | None, past: Past,
             balance: ops.Balance | None) -> Tensor:
    """x + mixer(norm(x)) + mlp(norm(x)): (B, T, C) -> (B, T, C)."""
    normed = weights.input_layernorm(x)                                  # (B, T, C)
    x = weights.mix(normed, x, table, past)                              # (B, T, C)
    return weights.feed(normed, x, balance)                              # (B, T, C)


def sandwich(weights: Block, x: Tensor, table: Tensor | None, past: Past,
             balance: ops.Balance | None) -> Tensor:
    """x + norm(mixer(norm(x))), then that + norm(mlp(norm(that))): (B, T, C) -> (B, T, C)."""
    mixed = weights.mix(weights.input_layernorm(x), None, table, past)   # (B, T, C)
    x = ops.add(x, weights.post_attention_layernorm(mixed))              # (B, T, C)
    out = weights.feed(weights.pre_feedforward_layernorm(x), None, balance)  # (B, T, C)
    return ops.add(x, weights.post_feedforward_layernorm(out))           # (B, T, C)


BLOCKS = {"sequential": sequential, "parallel": parallel, "sandwich": sandwich}


class Transformer(Module):
    """Everything below the head."""

    def __init__(self, recipe: Recipe, init: Initializer) -> None:
        std = recipe.initializer_range
        self.embed_tokens = Embedding(recipe.vocab_size, recipe.hidden_size, init=init, std=std)
        if recipe.position_embedding == "learned":
            self.embed_positions = Embedding(recipe.max_position_embeddings, recipe.hidden_size,
                                             init=init, std=std)
        self.layers = [Block(recipe, layer, init) for layer in range(recipe.num_hidden_layers)]
        self.norm = make_norm(recipe)


class Decoder(Module):
    """A language model of ids: `decoder(ids)` are the logits of the id that follows each.

    Args:
        recipe: what it is made of.
        seed: of the initial weights: N(0, initializer_range²), the projections of each block that
            write into the residual stream N(0, initializer_range² / (2 num_hidden_layers)),
            biases 0, gains 1.
        trainable: whether it gets a gradient buffer; generation needs none.

    `arena` holds its weights and gradients.
    `gradient_checkpointing`: whether the backward runs each layer again instead of keeping what it
    computed on its way; see `autograd.checkpoint`. `activation_dtype`: how it keeps the input of
    each layer for that; in 16 bits the loss stays as it is, and gradients are nearly the same.

    Source: Radford et al., "Language models are unsupervised multitask learners", 2019; Touvron et
    al., "LLaMA", 2023; the papers of the families are named where their parts are.
    """

    gradient_checkpointing: bool = False
    activation_dtype: str = "float32"

    def __init__(self, recipe: Recipe, seed: int = 0, *, trainable: bool = True) -> None:
        self._build(recipe, seed)
        self.arena = ParameterArena(self, trainable=trainable)
        self.device = self.arena.device

    @classmethod
    def unplaced(cls, recipe: Recipe) -> Decoder:
        """A decoder whose parameters have shapes and names but no values and no memory yet."""
        decoder = cls.__new__(cls)
        decoder._build(recipe, 0)
        for name, parameter in decoder.named_parameters():
            parameter.name = name
        return decoder

    def _build(self, recipe: Recipe, seed: int) -> None:
        init = Initializer(seed)
        self.recipe = recipe
        self.model = Transformer(recipe, init)
        self.lm_head = None if recipe.tie_word_embeddings else Linear(
            recipe.hidden_size, recipe.vocab_size, bias=recipe.head_bias, init=init,
            std=recipe.initializer_range)
        self.head = Head(self.lm_head, self.model.embed_tokens, recipe.final_logit_softcapping)
        self.tables = RotaryTables(recipe)

    @property
    def longest(self) -> int | None:
        """The most positions of a text; None where the frequencies follow its length."""
        return None if self.tables.depend_on_length else self.recipe.max_position_embeddings

    def __call__(self, ids: Tensor) -> Tensor:
        """Logits (B, T, V) for ids (B, T) uint32, T <= max_position_embeddings."""
        return self.head(self.hidden_states(ids))

    def loss(self, ids: Tensor, targets: Tensor, starts: Tensor | None = None,
             weight: Tensor | None = None) -> Tensor:
        """Cross-entropy in nats of the ids that follow; with `router_aux_loss_coef` the balance of
        the experts is added to it.

        Args:
            ids: (B, T) uint32.
            targets: (B, T) uint32, the id that follows each position; with a weight also
                `data.source.IGNORED`.
            starts: (B, T) uint32, the first position of the row that each one may look at: where
                its document begins. None where a row is one document.
            weight: (1) float32: the result is the sum over the targets that count, times it.
                None for the mean over all.

        Returns:
            A scalar.

        Raises:
            ShapeError: shapes that do not fit.
        """
        pasts = None if starts is None else self._packed(ids, starts)
        balance = self._balance()
        x = self.hidden_states(ids, pasts, balance)                      # (B, T, C)
        loss = self.head.loss(x, targets, weight)                        # ()
        return loss if balance is None else ops.add_balance(loss, balance)   # ()

    def _balance(self) -> ops.Balance | None:
        """What watches the experts of one forward; None where nothing asks for it."""
        experts = self.recipe.experts
        if experts is None or not experts.router_aux_loss_coef:
            return None
        return ops.Balance(experts.num_experts, experts.num_experts_per_tok,
                           experts.router_aux_loss_coef)

    def _packed(self, ids: Tensor, starts: Tensor) -> list[Past]:
        """The past of every layer where rows hold several documents."""
        if starts.shape != ids.shape:
            raise ShapeError("decoder: every position has a start.", expected=str(ids.shape),
                             received=str(starts.shape))
        return [Packed(starts)] * self.recipe.num_hidden_layers

    def hidden_states(self, ids: Tensor, pasts: Sequence[Past] | None = None,
                      balance: ops.Balance | None = None) -> Tensor:
        """What the head reads: ids (B, T) -> (B, T, C).

        Args:
            ids: uint32.
            pasts: of each layer; None where each row of ids is a whole text.
            balance: watches the experts, if it is given.

        Raises:
            ShapeError: ids of another rank, or more positions than the decoder has.
        """
        recipe, weights = self.recipe, self.model
        limit = self.longest
        if ids.ndim != 2 or (limit and ids.shape[1] > limit):
            raise ShapeError("decoder: ids are a batch of contexts.",
                             expected=f"(B, T) with T up to {limit}", received=str(ids.shape))
        span = None if pasts is None else pasts[0].span
        block = BLOCKS[recipe.block]
        x = weights.embed_tokens(ids)                                    # (B, T, C)
        if recipe.embedding_scale != 1.0:
            x = ops.scale(x, recipe.embedding_scale)                     # (B, T, C)
        if recipe.position_embedding == "learned":
            x = ops.add(x, self._positions(ids.shape[1], pasts))         # (B, T, C)
        for number, layer in enumerate(weights.layers):
            table = self.tables.of(layer.kind, ids.shape[1], span)       # (R, r)
            past = WHOLE if pasts is None else pasts[number]
            run = partial(block, layer, table=table, past=past, balance=balance)
            x = self._run(run, x)                                        # (B, T, C)
        return weights.norm(x)                                           # (B, T, C)

    def _run(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """One layer, kept whole for the backward or run again in it: (B, T, C) -> (B, T, C)."""
        if not self.gradient_checkpointing:
            return layer(x)
        return checkpoint(layer, x, keep=ops.kept(self.activation_dtype))

    def _positions(self, count: int, pasts: Sequence[Past] | None) -> Tensor:
        """Rows of the learned positions: (T, C), or (B, T, C) where documents count their own."""
        weight = self.model.embed_positions.weight
        past = WHOLE if pasts is None else pasts[0]
        if isinstance(past, Packed):
            return ops.embedding(ops.document_positions(past.starts), weight)
        span = past.span
        if span is None and weight.dtype == "float32":
            return weight.first_rows(count)
        if span is None:
            span = Tensor.from_numpy(np.zeros(1, np.uint32))
        if count == 1:  # the span begins with the one position
            return ops.embedding(Tensor((1, 1), "uint32", span.region.part(0, ITEM_BYTES)), weight)
        return ops.embedding(ops.positions(span, count, weight.shape[0]), weight)


def make_norm(recipe: Recipe) -> LayerNorm | RMSNorm:
    """A norm of the residual stream."""
    if recipe.norm == "layer":
        return LayerNorm(recipe.hidden_size, recipe.norm_eps)
    return RMSNorm(recipe.hidden_size, recipe.norm_eps, recipe.norm_offset)


def _output_std(recipe: Recipe) -> float:
    # 2 num_hidden_layers projections add to the stream: it keeps its variance at this scale.
    return recipe.initializer_range / math.sqrt(2 * recipe.num_hidden_layers)


def _attention(recipe: Recipe, layer: int, init: Initializer) -> Attention:
    return Attention(
        recipe.hidden_size, recipe.num_attention_heads, recipe.num_key_value_heads,
        head_dim=recipe.head_dim, bias=recipe.attention_bias, output_bias=recipe.output_bias,
        scale=recipe.attention_scale, window=recipe.window(layer),
        qk_norm=(recipe.norm_eps, recipe.norm_offset) if recipe.qk_norm else None,
        gated=recipe.attention_gate, init=init, std=recipe.initializer_range,
        output_std=_output_std(recipe))


def _delta_net(recipe: Recipe, init: Initializer) -> DeltaNet:
    sizes = recipe.linear_attention
    assert sizes is not None
    return DeltaNet(
        recipe.hidden_size, (sizes.num_key_heads, sizes.num_value_heads),
        (sizes.key_head_dim, sizes.value_head_dim), sizes.conv_kernel_dim, recipe.norm_eps,
        init=init, std=recipe.initializer_range, output_std=_output_std(recipe))


def _mlp(recipe: Recipe, layer: int, init: Initializer) -> MLP | GatedMLP | MixtureOfExperts:
    std, output_std = recipe.initializer_range, _output_std(recipe)
    if recipe.experts is not None and recipe.has_experts(layer):
        experts = recipe.experts
        return MixtureOfExperts(
            recipe.hidden_size, experts.intermediate_size, experts.num_experts,
            experts.num_experts_per_tok, experts.norm_topk_prob, init=init, std=std,
            output_std=output_std)
    kind = GatedMLP if recipe.gated_mlp else MLP
    return kind(recipe.hidden_size, recipe.intermediate_size,
                activation=ACTIVATIONS[recipe.hidden_act], bias=recipe.mlp_bias, init=init,
                std=std, output_std=output_std)


def parameter_shapes(recipe: Recipe) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every parameter, from the recipe alone.

    Example:
        >>> from tabgrad.models.recipe import preset
        >>> parameter_shapes(preset("tiny"))["model.norm.weight"]
        (64,)
    """
    return {name: parameter.shape for name, parameter
            in Decoder.unplaced(recipe).named_parameters()}


def parameter_count(recipe: Recipe) -> int:
    """The number of trained numbers, from the recipe alone.

    Example:
        >>> from tabgrad.models.recipe import preset
        >>> parameter_count(preset("byte-tinygpt")), parameter_count(preset("readable-llm"))
        (842496, 4596)
    """
    return Decoder.unplaced(recipe).parameter_count()
