"""Tiny random checkpoints of every family, saved by Transformers: the oracle of what we load.

Sizes are odd where the architecture allows it, queries are grouped, two families have several
shards, and sliding windows are shorter than the prompts of the tests.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

VOCABULARY = 199
SHARDED = ("llama", "qwen3_moe")
COMMON = {"vocab_size": VOCABULARY, "hidden_size": 36, "num_hidden_layers": 3,
          "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 76,
          "max_position_embeddings": 256, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
        "original_max_position_embeddings": 64}
FAMILIES: dict[str, dict[str, Any]] = {
    "gpt2": {"vocab_size": VOCABULARY, "n_embd": 36, "n_layer": 3, "n_head": 3,
             "n_positions": 256, "n_inner": 76, "bos_token_id": 1, "eos_token_id": 2},
    "llama": {**COMMON, "head_dim": 12, "rope_parameters": LLAMA3, "attention_bias": True,
              "mlp_bias": True},
    "mistral": {**COMMON, "head_dim": 12, "sliding_window": 24},
    "qwen2": {**COMMON, "hidden_size": 72, "use_sliding_window": True, "sliding_window": 24,
              "max_window_layers": 1, "tie_word_embeddings": True, "rope_parameters": YARN},
    "qwen3": {**COMMON, "head_dim": 20},
    "gemma3_text": {**COMMON, "head_dim": 20, "sliding_window": 16, "sliding_window_pattern": 2,
                    "query_pre_attn_scalar": 24},
    "phi": {**COMMON, "hidden_size": 72, "partial_rotary_factor": 0.5},
    "phi3": {**COMMON, "hidden_size": 72, "sliding_window": 40},
    "qwen3_5_text": {**COMMON, "num_hidden_layers": 4, "head_dim": 16, "linear_num_key_heads": 2,
                     "linear_num_value_heads": 4, "linear_key_head_dim": 8,
                     "linear_value_head_dim": 12, "linear_conv_kernel_dim": 4},
    "mixtral": {**COMMON, "head_dim": 12, "num_local_experts": 5, "num_experts_per_tok": 2},
    "qwen3_moe": {**COMMON, "head_dim": 20, "num_experts": 7, "num_experts_per_tok": 3,
                  "moe_intermediate_size": 28, "norm_topk_prob": True, "mlp_only_layers": [1]},
}
PROMPT = np.random.default_rng(0).integers(3, VOCABULARY, 70)
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def save(family: str, folder: Path, dtype: str = "float32", **changes: Any) -> Path:
    """Writes a seeded checkpoint of a family as Transformers saves it.

    Args:
        family: a key of FAMILIES.
        folder: where the model's own folder is made.
        dtype: of the weights in the file.
        changes: of its config.
    """
    torch.manual_seed(1)
    config = AutoConfig.for_model(family, **{**FAMILIES[family], **changes})
    model = AutoModelForCausalLM.from_config(config).float()
    noise = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():  # so that no gain is 1 and no bias is 0
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=noise))
    path = folder / f"{family}-{dtype}"
    model.to(DTYPES[dtype]).save_pretrained(
        path, max_shard_size="60KB" if family in SHARDED else "1GB")
    return path


@cache
def oracle(path: Path) -> Any:
    """Transformers' model of a folder, its weights as float32."""
    return AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()


def logits(path: Path, ids: np.ndarray) -> np.ndarray:
    """Transformers' logits (T, V) of ids (T)."""
    with torch.no_grad():
        result: np.ndarray = oracle(path)(torch.tensor(ids[None].astype(np.int64))).logits[0]
    return np.asarray(result, np.float32)


def greedy(path: Path, ids: np.ndarray, count: int) -> list[int]:
    """The `count` ids that Transformers writes after `ids`, each the likeliest."""
    with torch.no_grad():
        text = oracle(path).generate(torch.tensor(ids[None].astype(np.int64)), do_sample=False,
                                     max_new_tokens=count, min_new_tokens=count, eos_token_id=-1,
                                     pad_token_id=0)
    return [int(one) for one in text[0, len(ids):]]


def config_of(path: Path) -> dict[str, Any]:
    """config.json of a folder."""
    config: dict[str, Any] = json.loads((path / "config.json").read_text())
    return config
