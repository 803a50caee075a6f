"""Our parameters and Hugging Face's GPT-2: one table, read in both directions.

The names are the same wherever both have the tensor. What differs, and why:

- GPT-2 stores linear weights as Conv1D, (in, out); ours are (out, in) as in torch.nn.Linear, so
  that a row is one output and a kernel reads it in one sweep. Hence the transposes.
- GPT-2 keeps queries, keys and values in one tensor `c_attn`; ours are three named modules, which
  LoRA and the inspector can name. Hence the fusion, on the output axis.
- Our attention's output projection is `o_proj`, as in every later model; GPT-2 says `c_proj`.
- A tied head has no tensor of its own: Transformers ties it again when it loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import CheckpointError
from tabgrad.models.recipe import Recipe

State = dict[str, NDArray[np.float32]]
ATTENTION_PARTS = ("q_proj", "k_proj", "v_proj")


@dataclass(frozen=True)
class Entry:
    """One tensor of GPT-2 and the one or three of ours that it holds.

    `h.N` in a name stands for every block. `transposed` says that GPT-2 stores (in, out).
    """

    gpt2: str
    ours: tuple[str, ...]
    transposed: bool = False


def _same(name: str, transposed: bool = False) -> Entry:
    return Entry(name, (name,), transposed)


MODEL = (_same("transformer.wte.weight"), _same("transformer.wpe.weight"))
BLOCK = (
    _same("transformer.h.N.ln_1.weight"),
    _same("transformer.h.N.ln_1.bias"),
    Entry("transformer.h.N.attn.c_attn.weight",
          tuple(f"transformer.h.N.attn.{part}.weight" for part in ATTENTION_PARTS), True),
    Entry("transformer.h.N.attn.c_attn.bias",
          tuple(f"transformer.h.N.attn.{part}.bias" for part in ATTENTION_PARTS)),
    Entry("transformer.h.N.attn.c_proj.weight", ("transformer.h.N.attn.o_proj.weight",), True),
    Entry("transformer.h.N.attn.c_proj.bias", ("transformer.h.N.attn.o_proj.bias",)),
    _same("transformer.h.N.ln_2.weight"),
    _same("transformer.h.N.ln_2.bias"),
    _same("transformer.h.N.mlp.c_fc.weight", transposed=True),
    _same("transformer.h.N.mlp.c_fc.bias"),
    _same("transformer.h.N.mlp.c_proj.weight", transposed=True),
    _same("transformer.h.N.mlp.c_proj.bias"),
)
END = (_same("transformer.ln_f.weight"), _same("transformer.ln_f.bias"))


def table(num_hidden_layers: int) -> list[Entry]:
    """The whole table for a model of so many blocks.

    Example:
        >>> len(table(4))
        52
    """
    blocks = [Entry(entry.gpt2.replace("h.N", f"h.{layer}"),
                    tuple(name.replace("h.N", f"h.{layer}") for name in entry.ours),
                    entry.transposed)
              for layer in range(num_hidden_layers) for entry in BLOCK]
    return [*MODEL, *blocks, *END]


def to_gpt2(state: Mapping[str, NDArray[np.float32]]) -> State:
    """Our tensors under GPT-2's names and layouts; `from_gpt2` undoes it bit by bit.

    Args:
        state: name -> array, a decoder's complete set (weights, or a moment).

    Raises:
        CheckpointError: a tensor is missing, or one is left over.
    """
    entries = table(_layer_count(state))
    _check_names(state, [name for entry in entries for name in entry.ours])
    result = {}
    for entry in entries:
        joined = np.concatenate([state[name] for name in entry.ours], axis=0)
        result[entry.gpt2] = np.ascontiguousarray(joined.T if entry.transposed else joined)
    return result


def from_gpt2(state: Mapping[str, NDArray[np.float32]]) -> State:
    """GPT-2's tensors under our names and layouts.

    Args:
        state: name -> array; `c_attn` holds queries, keys and values of equal size.

    Raises:
        CheckpointError: a tensor is missing, one is left over, or a `c_attn` is not three equal
            parts.
    """
    entries = table(_layer_count(state))
    _check_names(state, [entry.gpt2 for entry in entries])
    result = {}
    for entry in entries:
        tensor = state[entry.gpt2].T if entry.transposed else state[entry.gpt2]
        if tensor.ndim == 0 or tensor.shape[0] % len(entry.ours):
            raise CheckpointError(f"{entry.gpt2} cannot be split.", received=str(tensor.shape),
                                  expected=f"a multiple of {len(entry.ours)} outputs")
        for name, part in zip(entry.ours, np.split(tensor, len(entry.ours)), strict=True):
            result[name] = np.ascontiguousarray(part)
    return result


def config_json(recipe: Recipe) -> dict[str, Any]:
    """The config.json with which Transformers' GPT2LMHeadModel computes the same logits.

    Raises:
        CheckpointError: GPT-2 has no such model (grouped queries, a head of its own).
    """
    if recipe.num_key_value_heads != recipe.num_attention_heads:
        raise CheckpointError("GPT-2 has no grouped queries.", received=repr(recipe))
    if not recipe.tie_word_embeddings:
        raise CheckpointError("The GPT-2 folder is written with a tied head.",
                              received=repr(recipe))
    return {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
        "vocab_size": recipe.vocab_size, "n_embd": recipe.hidden_size,
        "n_layer": recipe.num_hidden_layers, "n_head": recipe.num_attention_heads,
        "n_inner": recipe.intermediate_size, "n_positions": recipe.max_position_embeddings,
        "activation_function": recipe.hidden_act, "layer_norm_epsilon": recipe.norm_eps,
        "initializer_range": recipe.initializer_range, "tie_word_embeddings": True,
        "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0,
        "scale_attn_weights": True, "bos_token_id": None, "eos_token_id": None,
        "torch_dtype": "float32"}


def recipe_from_config(config: Mapping[str, Any]) -> Recipe:
    """The recipe that a GPT-2 config.json describes.

    Raises:
        CheckpointError: another model, a missing field, or an option that we do not compute.
        SettingsError: sizes that contradict each other.
    """
    required = {"model_type": "gpt2", "scale_attn_weights": True,
                "scale_attn_by_inverse_layer_idx": False, "reorder_and_upcast_attn": False,
                "add_cross_attention": False, "tie_word_embeddings": True}
    defaults = {**required, "model_type": None}
    for name, value in required.items():
        if config.get(name, defaults[name]) != value:
            raise CheckpointError(f"config.json: {name} is not one that tabgrad computes.",
                                  expected=repr(value), received=repr(config.get(name)))
    missing = [name for name in ("vocab_size", "n_embd", "n_layer", "n_head", "n_positions")
               if name not in config]
    if missing:
        raise CheckpointError("config.json lacks fields.", expected=", ".join(missing))
    heads = config["n_head"]
    return Recipe(
        vocab_size=config["vocab_size"], hidden_size=config["n_embd"],
        num_hidden_layers=config["n_layer"], num_attention_heads=heads, num_key_value_heads=heads,
        intermediate_size=config.get("n_inner") or 4 * config["n_embd"],
        max_position_embeddings=config["n_positions"],
        hidden_act=config.get("activation_function", "gelu_new"),
        norm_eps=config.get("layer_norm_epsilon", 1e-5),
        initializer_range=config.get("initializer_range", 0.02))


def _layer_count(state: Mapping[str, object]) -> int:
    return len({name.split(".")[2] for name in state if name.startswith("transformer.h.")})


def _check_names(state: Mapping[str, object], names: list[str]) -> None:
    missing = sorted(set(names) - set(state))
    unknown = sorted(set(state) - set(names))
    if missing or unknown:
        raise CheckpointError("These are not the tensors of a tied GPT-2.",
                              expected=f"{_some(missing)} (missing)" if missing else None,
                              received=f"{_some(unknown)} (unknown)" if unknown else None)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more
