"""config.json -> Recipe, one function a family. What is not computed is refused by its name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tabgrad.errors import CheckpointError
from tabgrad.models.config_fields import Config, number, size, values
from tabgrad.models.recipe import FULL, LINEAR, SLIDING, Experts, LinearAttention, Recipe
from tabgrad.models.rotary import RotaryParameters, rotary_parameters

MOST_LAYERS = 1000
MOST_EXPERTS = 100_000  # of all layers together
GELU_TANH = ("gelu_new", "gelu_pytorch_tanh", "gelu_fast")


def recipe_from_config(config: Config) -> Recipe:
    """The recipe that a config.json describes.

    Args:
        config: the parsed file of Transformers 4 or 5.

    Raises:
        CheckpointError: another family, a missing field, or an option that we do not compute.
        SettingsError: sizes that contradict each other.

    Example:
        >>> recipe_from_config({"model_type": "gpt2", "vocab_size": 50257, "n_embd": 768,
        ...                     "n_layer": 12, "n_head": 12, "n_positions": 1024}).head_dim
        64
    """
    model_type = config.get("model_type")
    if model_type == "qwen3_5":
        return recipe_from_config({"tie_word_embeddings": config.get("tie_word_embeddings", False),
                                   **_text_config(config)})
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        raise CheckpointError("config.json: tabgrad does not know this kind of model.",
                              expected=", ".join(sorted(FAMILIES)), received=repr(model_type))
    if config.get("quantization_config"):
        raise CheckpointError("config.json: quantised weights cannot be read yet.",
                              expected="float32, bfloat16 or float16 weights",
                              received="quantization_config",
                              remedy="Choose the checkpoint that this one was made from.")
    return FAMILIES[model_type](config)


def _gpt2(config: Config) -> Recipe:
    _only(config, {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False,
                   "reorder_and_upcast_attn": False, "add_cross_attention": False})
    hidden, heads = size(config, "n_embd"), size(config, "n_head")
    return Recipe(
        vocab_size=size(config, "vocab_size"), hidden_size=hidden,
        num_hidden_layers=size(config, "n_layer", most=MOST_LAYERS), num_attention_heads=heads,
        num_key_value_heads=heads, intermediate_size=size(config, "n_inner", 4 * hidden),
        max_position_embeddings=size(config, "n_positions"),
        hidden_act=_activation(config, "activation_function", "gelu_new"),
        norm_eps=number(config, "layer_norm_epsilon", 1e-5),
        tie_word_embeddings=config.get("tie_word_embeddings", True),
        initializer_range=number(config, "initializer_range", 0.02), model_type="gpt2")


def _llama(config: Config) -> Recipe:
    bias = bool(config.get("attention_bias", False))
    return _rotary_recipe(config, attention_bias=bias, output_bias=bias,
                          mlp_bias=bool(config.get("mlp_bias", False)))


def _mistral(config: Config) -> Recipe:
    return _rotary_recipe(config, **_one_window(config, 4096))


def _qwen2(config: Config) -> Recipe:
    return _rotary_recipe(config, attention_bias=True, **_qwen_windows(config))


def _qwen3(config: Config) -> Recipe:
    bias = bool(config.get("attention_bias", False))
    return _rotary_recipe(config, default_head_dim=128, qk_norm=True, attention_bias=bias,
                          output_bias=bias, **_qwen_windows(config))


def _gemma3(config: Config) -> Recipe:
    _only(config, {"attn_logit_softcapping": None, "use_bidirectional_attention": False})
    every = size(config, "sliding_window_pattern", 6, least=0)
    kinds = _kinds(config, [FULL if every and (i + 1) % every == 0 else SLIDING
                            for i in range(_layers(config))])
    bias, cap = bool(config.get("attention_bias")), config.get("final_logit_softcapping")
    hidden = size(config, "hidden_size")
    return _rotary_recipe(
        config, activation="hidden_activation", default_activation="gelu_pytorch_tanh",
        default_head_dim=256, default_tied=True, block="sandwich", norm_offset=1.0, qk_norm=True,
        attention_bias=bias, output_bias=bias,
        query_pre_attn_scalar=number(config, "query_pre_attn_scalar", 256),
        embedding_scale=math.sqrt(hidden), layer_types=kinds,
        sliding_window=size(config, "sliding_window", 4096),
        final_logit_softcapping=None if cap is None else number(config, "final_logit_softcapping"))


def _phi(config: Config) -> Recipe:
    _only(config, {"qk_layernorm": False})
    return _rotary_recipe(
        config, norm_eps="layer_norm_eps", default_eps=1e-5, default_activation="gelu_new",
        norm="layer", block="parallel", gated_mlp=False, attention_bias=True, output_bias=True,
        mlp_bias=True, head_bias=True)


def _phi3(config: Config) -> Recipe:
    return _rotary_recipe(config, default_eps=1e-5, **_one_window(config, None))


def _qwen3_5(config: Config) -> Recipe:
    every = size(config, "full_attention_interval", 4)
    kinds = _kinds(config, [FULL if (i + 1) % every == 0 else LINEAR
                            for i in range(_layers(config))])
    bias = bool(config.get("attention_bias", False))
    linear = LinearAttention(
        num_key_heads=size(config, "linear_num_key_heads", 16),
        num_value_heads=size(config, "linear_num_value_heads", 32),
        key_head_dim=size(config, "linear_key_head_dim", 128),
        value_head_dim=size(config, "linear_value_head_dim", 128),
        conv_kernel_dim=size(config, "linear_conv_kernel_dim", 4))
    return _rotary_recipe(config, default_head_dim=256, qk_norm=True, norm_offset=1.0,
                          attention_gate=True, attention_bias=bias, output_bias=bias,
                          layer_types=kinds, linear_attention=linear)


def _mixtral(config: Config) -> Recipe:
    experts = Experts(_experts(config, "num_local_experts"), size(config, "num_experts_per_tok"),
                      size(config, "intermediate_size"), router_aux_loss_coef=_balance(config))
    return _rotary_recipe(config, default_eps=1e-5, experts=experts, **_one_window(config, None))


def _qwen3_moe(config: Config) -> Recipe:
    step, only = size(config, "decoder_sparse_step", 1), values(config, "mlp_only_layers", int)
    dense = tuple(i for i in range(_layers(config)) if i in (only or ()) or (i + 1) % step)
    # Transformers 5 writes num_local_experts for what the hub's files call num_experts.
    count = _experts(config, "num_experts" if "num_experts" in config else "num_local_experts")
    experts = Experts(count, size(config, "num_experts_per_tok"),
                      size(config, "moe_intermediate_size"),
                      bool(config.get("norm_topk_prob", False)), dense, _balance(config))
    bias = bool(config.get("attention_bias", False))
    return _rotary_recipe(config, qk_norm=True, attention_bias=bias, output_bias=bias,
                          experts=experts, **_one_window(_qwen_window(config), None))


def _rotary_recipe(config: Config, *, activation: str = "hidden_act",
                   default_activation: str = "silu", norm_eps: str = "rms_norm_eps",
                   default_eps: float = 1e-6, default_head_dim: int = 0,
                   default_tied: bool = False,
                   **parts: Any) -> Recipe:
    """What every family with rotary positions has in common: Llama's fields."""
    heads = size(config, "num_attention_heads")
    kinds = parts.get("layer_types") or (FULL,)
    settings: dict[str, Any] = {
        "norm": "rms", "position_embedding": "rotary", "gated_mlp": True, "attention_bias": False,
        "output_bias": False, "mlp_bias": False, **parts}
    return Recipe(
        vocab_size=size(config, "vocab_size"), hidden_size=size(config, "hidden_size"),
        num_hidden_layers=_layers(config), num_attention_heads=heads,
        num_key_value_heads=size(config, "num_key_value_heads", heads),
        intermediate_size=size(config, "intermediate_size"),
        max_position_embeddings=size(config, "max_position_embeddings"),
        hidden_act=_activation(config, activation, default_activation),
        norm_eps=number(config, norm_eps, default_eps),
        tie_word_embeddings=bool(config.get("tie_word_embeddings", default_tied)),
        initializer_range=number(config, "initializer_range", 0.02),
        model_type=config["model_type"],
        head_dim=size(config, "head_dim", default_head_dim, least=0),
        rotary=_rotary(config, kinds), **settings)


def _rotary(config: Config, kinds: tuple[str, ...]) -> tuple[tuple[str, RotaryParameters], ...]:
    attending = sorted(set(kinds) - {LINEAR})
    return tuple((kind, rotary_parameters(config, kind)) for kind in attending)


def _one_window(config: Config, default: int | None) -> dict[str, Any]:
    """Every layer sees the last `sliding_window` positions, or all if there is none."""
    window = size({"sliding_window": config.get("sliding_window", default)}, "sliding_window", 0,
                  least=0)
    if not window:
        return {}
    return {"sliding_window": window,
            "layer_types": _kinds(config, [SLIDING] * _layers(config))}


def _qwen_window(config: Config) -> dict[str, Any]:
    """The same config without a window unless `use_sliding_window` says so."""
    return {**config, "sliding_window": config.get("sliding_window")
            if config.get("use_sliding_window", False) else None}


def _qwen_windows(config: Config) -> dict[str, Any]:
    """Layers from `max_window_layers` on slide, where `use_sliding_window` says so."""
    window = size(_qwen_window(config), "sliding_window", 0, least=0)
    first = size(config, "max_window_layers", 28, least=0)
    kinds = _kinds(config, [SLIDING if window and i >= first else FULL
                            for i in range(_layers(config))])
    return {"layer_types": kinds, "sliding_window": window}


def _kinds(config: Config, derived: list[str]) -> tuple[str, ...]:
    """`layer_types` of Transformers 5, or what Transformers 4 derived from other fields."""
    return tuple(values(config, "layer_types", str) or derived)


def _layers(config: Config) -> int:
    return size(config, "num_hidden_layers", most=MOST_LAYERS)


def _experts(config: Config, name: str) -> int:
    return size(config, name, most=MOST_EXPERTS // _layers(config))


def _balance(config: Config) -> float:
    """What the load-balancing loss is worth: nothing unless the router's logits are put out."""
    return number(config, "router_aux_loss_coef", 0.001) if config.get("output_router_logits") \
        else 0.0


def _text_config(config: Config) -> dict[str, Any]:
    text = config.get("text_config")
    if not isinstance(text, dict) or text.get("model_type") != "qwen3_5_text":
        raise CheckpointError("config.json lacks the part that describes the language model.",
                              expected="text_config of a qwen3_5_text",
                              received=repr(text)[:80])
    return text


def _activation(config: Config, name: str, default: str) -> str:
    value = config.get(name, default)
    if value in GELU_TANH:
        return "gelu_new"
    if value in ("silu", "swish"):
        return "silu"
    raise CheckpointError(f"config.json: {name} is not one that tabgrad computes.",
                          expected=", ".join((*GELU_TANH, "silu")), received=repr(value)[:80])


def _only(config: Config, allowed: Mapping[str, Any]) -> None:
    """Raises CheckpointError where an option is not the one value that we compute."""
    for name, value in allowed.items():
        found = config.get(name, value)
        if found != value and not (value is False and found is None):
            raise CheckpointError(f"config.json: {name} is not one that tabgrad computes.",
                                  expected=repr(value), received=repr(found)[:80])


FAMILIES: dict[str, Callable[[Config], Recipe]] = {
    "gpt2": _gpt2, "llama": _llama, "mistral": _mistral, "qwen2": _qwen2, "qwen3": _qwen3,
    "gemma3_text": _gemma3, "phi": _phi, "phi3": _phi3, "qwen3_5_text": _qwen3_5,
    "mixtral": _mixtral, "qwen3_moe": _qwen3_moe}
