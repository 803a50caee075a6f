"""Rotary positions: from config.json to the table of cosines and sines.

Channel pair i of the r rotated channels of a head turns by position * inverse_frequency[i], where

    inverse_frequency[i] = rope_theta^(-2 i / r)

and each rope type changes these frequencies for contexts longer than those that were trained on.
Everything is rounded to float32 where Transformers 5 rounds, so that tables agree far out too.

Source: Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import CheckpointError
from tabgrad.models.config_fields import Config, number, size, table

Array = NDArray[np.float32]

ROPE_TYPES = ("default", "linear", "dynamic", "llama3", "yarn")
FULL = "full_attention"

# What a config.json may leave out, by model_type.
HEAD_DIM = {"gemma3_text": 256, "qwen3": 128, "qwen3_5_text": 256}
THETA = {"mixtral": 1e6}
LOCAL_THETA, GLOBAL_THETA = 1e4, 1e6  # of Gemma 3's sliding and full layers
PARTIAL = {"phi": 0.5, "phi3": 1.0, "qwen3_5_text": 0.25}
# Transformers turns whole heads in these, whatever partial_rotary_factor says.
WHOLE_HEADS = ("llama", "mistral", "qwen2", "qwen3", "gemma3_text", "mixtral", "qwen3_moe")


@dataclass(frozen=True)
class RotaryParameters:
    """How the queries and keys of a layer turn.

    Args:
        rope_type: "default", "linear", "dynamic", "llama3" or "yarn".
        rope_theta: the base of the frequencies.
        dim: channels of a head that turn, as the config says; an odd one is rounded up.
        max_position_embeddings: positions that the model knows ("dynamic").
        original_max_position_embeddings: positions it was trained on before ("llama3", "yarn").
        factor: by how much the context was stretched.
        attention_factor: scales cosines and sines ("yarn").
        low_freq_factor, high_freq_factor: bounds of the blend, in turns over the original
            context ("llama3").
        beta_fast, beta_slow: bounds of the blend, in turns over the original context ("yarn").
        truncate: whether these bounds become whole channels ("yarn").
    """

    rope_type: str
    rope_theta: float
    dim: int
    max_position_embeddings: int
    original_max_position_embeddings: int
    factor: float = 1.0
    attention_factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True

    @property
    def rotary_dim(self) -> int:
        """r, the channels of a head that turn: an even number."""
        return self.dim + self.dim % 2


def rotary_parameters(config: Config, layer_type: str | None = None) -> RotaryParameters:
    """The parameters that a config.json gives to the layers of one type.

    Reads `rope_parameters` of Transformers 5, also with a dict for each layer type, and the flat
    `rope_theta`, `rope_scaling` and (Gemma 3) `rope_local_base_freq` of Transformers 4.

    Args:
        config: the parsed file.
        layer_type: "full_attention", "sliding_attention", ..., where layers differ.

    Raises:
        CheckpointError: a rope type that is not computed, or numbers that are not fit.

    Example:
        >>> rotary_parameters({"rope_theta": 5e5, "head_dim": 64,
        ...                    "max_position_embeddings": 2048}).rotary_dim
        64
    """
    known = size(config, "max_position_embeddings")
    values, original, truncate = _values(config, layer_type, known)
    rope_type = values.get("rope_type", values.get("type", "default"))
    model_type = config.get("model_type")
    if rope_type not in ROPE_TYPES or (model_type == "phi3" and rope_type != "default"):
        # Transformers reads Phi-3's "yarn" and "su" as "longrope".
        raise CheckpointError("config.json: this rope type is not computed.",
                              expected=", ".join(ROPE_TYPES), received=f"{rope_type!r}",
                              remedy="Choose a checkpoint with another way to stretch positions.")
    head_dim, dim = _dims(config, values, rope_type)
    if not 2 <= dim + dim % 2 <= head_dim or (rope_type == "dynamic" and dim == 2):
        raise CheckpointError("config.json: this many channels of a head cannot turn.",
                              expected=f"2 to {head_dim}", received=str(dim))
    scaling: dict[str, Any] = {}
    if rope_type == "yarn":
        scaling = {**_yarn(values, known, original), "truncate": truncate}
    elif rope_type != "default":
        scaling["factor"] = number(values, "factor")
    if rope_type == "llama3":
        scaling["low_freq_factor"] = number(values, "low_freq_factor")
        scaling["high_freq_factor"] = number(values, "high_freq_factor")
        if scaling["high_freq_factor"] <= scaling["low_freq_factor"]:
            raise CheckpointError("config.json: high_freq_factor must be above low_freq_factor.",
                                  received=str(scaling))
    theta = number(values, "rope_theta", _default_theta(config, layer_type))
    if theta <= 1:
        raise CheckpointError("config.json: rope_theta is not the base of frequencies.",
                              expected="a number above 1", received=str(theta))
    return RotaryParameters(rope_type, theta, dim, known, original, **scaling)


def rotary_table(parameters: RotaryParameters, rows: int,
                 sequence_length: int | None = None) -> Array:
    """The cosines and sines of the positions 0, ..., rows - 1.

    Args:
        parameters: of the layer.
        rows: R, the number of positions.
        sequence_length: positions that are read at once from position 0. Only the type "dynamic"
            asks: it turns faster the longer the sequence is, from max_position_embeddings on. A
            position p beyond that uses the length max(sequence_length, p + 1), as when it is
            decoded.

    Returns:
        (R, r) float32: r / 2 cosines, then r / 2 sines, both times attention_factor.

    Example:
        >>> parameters = RotaryParameters("default", 10000.0, 4, 8, 8)
        >>> rotary_table(parameters, 2).round(3).tolist()[0]
        [1.0, 1.0, 0.0, 0.0]
    """
    positions = np.arange(rows, dtype=np.float32)[:, None]                     # (R, 1)
    if parameters.rope_type == "dynamic":
        frequencies = _dynamic_frequencies(parameters, rows, sequence_length)  # (R, r / 2)
    else:
        frequencies = FREQUENCIES[parameters.rope_type](parameters)[None]      # (1, r / 2)
    angles = (positions * frequencies).astype(np.float64)                      # (R, r / 2)
    turned = np.concatenate([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    table: Array = turned * np.float32(parameters.attention_factor)            # (R, r)
    return table


def _powers(base: float | Array, dim: int) -> Array:
    """base^(2 i / dim) for each pair of channels, rounded once: (..., ceil(dim / 2))."""
    exponents = np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)
    rounded = np.asarray(base, np.float32).astype(np.float64)[..., None]
    return (rounded ** exponents.astype(np.float64)).astype(np.float32)


def _default_frequencies(parameters: RotaryParameters) -> Array:
    return np.float32(1) / _powers(parameters.rope_theta, parameters.dim)


def _linear_frequencies(parameters: RotaryParameters) -> Array:
    """Positions are squeezed: Chen et al., "Extending context window ...", 2023."""
    return _default_frequencies(parameters) / np.float32(parameters.factor)


def _dynamic_frequencies(parameters: RotaryParameters, rows: int,
                         sequence_length: int | None) -> Array:
    """The base grows with the length: theta (factor length / known - factor + 1)^(d / (d - 2))."""
    known, dim = parameters.max_position_embeddings, parameters.dim
    positions = np.arange(rows)
    at_once = max(known, sequence_length or 0)
    lengths = np.where(positions < known, at_once, np.maximum(at_once, positions + 1))  # (R,)
    factor = np.float32(parameters.factor)
    stretched = factor * lengths.astype(np.float32) / np.float32(known)                 # (R,)
    growth = (stretched - (factor - np.float32(1))).astype(np.float64) ** (dim / (dim - 2))
    growth = np.where(lengths > known, growth, 1.0)                                     # (R,)
    base = np.float32(parameters.rope_theta) * growth.astype(np.float32)                # (R,)
    frequencies: Array = np.float32(1) / _powers(base, dim)                             # (R, r / 2)
    return frequencies


def _llama3_frequencies(parameters: RotaryParameters) -> Array:
    """Slow pairs turn `factor` times slower, fast ones as before, with a blend in between.

    Source: Meta, "The Llama 3 herd of models", 2024, and its reference code.
    """
    frequencies = _default_frequencies(parameters)                             # (r / 2)
    factor = np.float32(parameters.factor)
    low, high = parameters.low_freq_factor, parameters.high_freq_factor
    original = parameters.original_max_position_embeddings
    wavelength = np.float32(2 * math.pi) / frequencies                         # (r / 2)
    is_slow = wavelength > np.float32(original / low)
    is_fast = wavelength < np.float32(original / high)
    share = (np.float32(original) / wavelength - np.float32(low)) / np.float32(high - low)
    blended = (1 - share) * frequencies / factor + share * frequencies
    return np.where(is_slow, frequencies / factor, np.where(is_fast, frequencies, blended))


def _yarn_frequencies(parameters: RotaryParameters) -> Array:
    """From unchanged (pairs that turn fast) to squeezed (slow), along a ramp over the channels.

    Source: Peng et al., "YaRN: efficient context window extension of large language models", 2023.
    """
    powers = _powers(parameters.rope_theta, parameters.dim)                    # (r / 2)
    unchanged = np.float32(1) / powers
    squeezed = np.float32(1) / (np.float32(parameters.factor) * powers)
    low, high = _ramp(parameters)
    channels = np.arange(len(powers), dtype=np.float32)
    ramp = np.clip((channels - np.float32(low)) / np.float32(high - low), 0, 1)
    kept = np.float32(1) - ramp
    frequencies: Array = squeezed * (np.float32(1) - kept) + unchanged * kept  # (r / 2)
    return frequencies


def _ramp(parameters: RotaryParameters) -> tuple[float, float]:
    """Where YaRN's ramp begins and ends, in pairs of channels."""
    def pair_that_turns(times: float) -> float:
        turns = parameters.original_max_position_embeddings / (times * 2 * math.pi)
        return parameters.dim * math.log(turns) / (2 * math.log(parameters.rope_theta))
    low, high = pair_that_turns(parameters.beta_fast), pair_that_turns(parameters.beta_slow)
    if parameters.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, parameters.dim - 1)
    return low, high + 0.001 if low == high else high


FREQUENCIES = {"default": _default_frequencies, "linear": _linear_frequencies,
               "llama3": _llama3_frequencies, "yarn": _yarn_frequencies}


def _values(config: Config, layer_type: str | None,
            known: int) -> tuple[dict[str, Any], int, bool]:
    """The rope values of a layer type; the original context; YaRN's `truncate`."""
    scaling = table(config, "rope_scaling")
    outer = table(config, "rope_parameters")
    gemma = config.get("model_type") == "gemma3_text"
    nested = gemma or any(isinstance(value, dict) for value in outer.values())
    if nested:
        values = {**table(outer, layer_type or FULL)}
        if gemma and (layer_type or FULL) == FULL:
            values |= scaling
        elif not gemma and not values:
            raise CheckpointError("config.json: rope_parameters lacks this type of layer.",
                                  expected=str(layer_type), received=", ".join(outer))
    else:
        # Transformers prefers the older field where a file has both.
        values = {**(scaling or outer)}
    if values.get("partial_rotary_factor") is None and not gemma:
        values["partial_rotary_factor"] = config.get("partial_rotary_factor")
    name = "original_max_position_embeddings"
    if not nested and config.get(name) is not None:
        values[name] = config[name]
    original = size(values, name) if values.get(name) is not None else known
    # Transformers looks for it beside the layer types, not inside.
    truncate = (outer if nested else values).get("truncate", True)
    return values, original, bool(truncate)


def _default_theta(config: Config, layer_type: str | None) -> Any:
    model_type = config.get("model_type")
    if model_type == "gemma3_text" and (layer_type or FULL) != FULL:
        return config.get("rope_local_base_freq", LOCAL_THETA)
    default = GLOBAL_THETA if model_type == "gemma3_text" else THETA.get(str(model_type), 1e4)
    return config.get("rope_theta", default)


def _dims(config: Config, values: Config, rope_type: str) -> tuple[int, int]:
    """D, and how many of its channels turn."""
    model_type = str(config.get("model_type"))
    if config.get("head_dim") is not None:
        head_dim = size(config, "head_dim")
    elif model_type in HEAD_DIM:
        head_dim = HEAD_DIM[model_type]
    else:
        head_dim = size(config, "hidden_size") // size(config, "num_attention_heads")
    share = 1.0
    if values.get("partial_rotary_factor") is not None or model_type in PARTIAL:
        share = number(values, "partial_rotary_factor", PARTIAL.get(model_type))
    if share != 1 and model_type in WHOLE_HEADS:
        if rope_type != "default":
            raise CheckpointError("config.json: in this family whole heads turn.",
                                  expected="partial_rotary_factor 1", received=str(share))
        share = 1.0
    return head_dim, int(head_dim * share)


def _yarn(values: Config, known: int, original: int) -> dict[str, float]:
    """YaRN's optional numbers; without an attention_factor the paper's."""
    if "factor" in values and values["factor"] is None:
        factor = known / original
    else:
        factor = number(values, "factor")

    def attention(scale: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * scale * math.log(factor) + 1.0
    if values.get("attention_factor") is not None:
        attention_factor = number(values, "attention_factor")
    elif values.get("mscale") and values.get("mscale_all_dim"):
        attention_factor = (attention(number(values, "mscale"))
                            / attention(number(values, "mscale_all_dim")))
    else:
        attention_factor = attention(1.0)
    return {"factor": factor, "attention_factor": attention_factor,
            "beta_fast": number(values, "beta_fast", 32.0) if values.get("beta_fast") else 32.0,
            "beta_slow": number(values, "beta_slow", 1.0) if values.get("beta_slow") else 1.0}
