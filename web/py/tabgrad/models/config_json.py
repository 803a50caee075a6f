"""Recipe -> config.json, for the models that tabgrad trains from nothing."""

from __future__ import annotations

from typing import Any

from tabgrad.errors import CheckpointError
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.recipe import FULL, Recipe


def config_json(recipe: Recipe) -> dict[str, Any]:
    """The config.json with which Transformers computes the same logits.

    Raises:
        CheckpointError: the family's config.json cannot say what this recipe says, or the family
            is not one that tabgrad trains from nothing.

    Example:
        >>> from tabgrad.models.recipe import preset
        >>> config_json(preset("tiny"))["n_embd"]
        64
    """
    if recipe.model_type not in WRITERS:
        raise CheckpointError("tabgrad does not write folders of this family yet.",
                              expected=" or ".join(WRITERS), received=recipe.model_type)
    config = WRITERS[recipe.model_type](recipe)
    if recipe_from_config(config) != recipe:
        raise CheckpointError(f"A {recipe.model_type} cannot be what this recipe says.",
                              received=repr(recipe))
    return config


def _gpt2(recipe: Recipe) -> dict[str, Any]:
    return {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
        "vocab_size": recipe.vocab_size, "n_embd": recipe.hidden_size,
        "n_layer": recipe.num_hidden_layers, "n_head": recipe.num_attention_heads,
        "n_inner": recipe.intermediate_size, "n_positions": recipe.max_position_embeddings,
        "activation_function": recipe.hidden_act, "layer_norm_epsilon": recipe.norm_eps,
        "initializer_range": recipe.initializer_range,
        "tie_word_embeddings": recipe.tie_word_embeddings,
        "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0,
        "scale_attn_weights": True, "bos_token_id": None, "eos_token_id": None,
        "torch_dtype": "float32"}


def _llama(recipe: Recipe) -> dict[str, Any]:
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama",
            "attention_bias": recipe.attention_bias, "mlp_bias": recipe.mlp_bias,
            **_rotary_fields(recipe)}


def _mixtral(recipe: Recipe) -> dict[str, Any]:
    experts = recipe.experts
    if experts is None:
        raise CheckpointError("A Mixtral has experts.", received=repr(recipe))
    balance = {"output_router_logits": True,
               "router_aux_loss_coef": experts.router_aux_loss_coef}
    return {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
            "sliding_window": None, "num_local_experts": experts.num_experts,
            "num_experts_per_tok": experts.num_experts_per_tok,
            **(balance if experts.router_aux_loss_coef else {}), **_rotary_fields(recipe)}


def _rotary_fields(recipe: Recipe) -> dict[str, Any]:
    """What Llama's config.json has, and that of the families that followed it."""
    rotary = dict(recipe.rotary)[FULL]
    return {
        "vocab_size": recipe.vocab_size, "hidden_size": recipe.hidden_size,
        "num_hidden_layers": recipe.num_hidden_layers,
        "num_attention_heads": recipe.num_attention_heads,
        "num_key_value_heads": recipe.num_key_value_heads, "head_dim": recipe.head_dim,
        "intermediate_size": recipe.intermediate_size, "hidden_act": recipe.hidden_act,
        "max_position_embeddings": recipe.max_position_embeddings,
        "rms_norm_eps": recipe.norm_eps, "initializer_range": recipe.initializer_range,
        "tie_word_embeddings": recipe.tie_word_embeddings,
        "rope_parameters": {"rope_type": "default", "rope_theta": rotary.rope_theta},
        "bos_token_id": None, "eos_token_id": None, "torch_dtype": "float32"}


WRITERS = {"gpt2": _gpt2, "llama": _llama, "mixtral": _mixtral}
