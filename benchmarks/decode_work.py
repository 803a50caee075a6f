"""The checkpoint and prompt that every library is given: random bf16 weights, from fixed seeds.

The numbers are those of the comparison's own checkpoint, written here as one safetensors file.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np

from tabgrad.reference.stored import pack

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256,
    "intermediate_size": 704, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 4096, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5, "rope_theta": 1e4, "hidden_act": "silu", "tie_word_embeddings": False,
    "attention_bias": False, "mlp_bias": False, "bos_token_id": 256, "eos_token_id": 256,
    "torch_dtype": "bfloat16"}
PROMPT, NEW = 128, 64
_DEVIATION = 0.04


def prompt() -> list[int]:
    """128 ids below 256."""
    return random.Random(3).choices(range(256), k=PROMPT)


def write_checkpoint(folder: Path) -> None:
    """config.json and model.safetensors."""
    draw = random.Random(2)
    header: dict[str, object] = {}
    blobs, offset = [], 0
    for name, shape in _shapes():
        count = int(np.prod(shape))
        values = [1.0] * count if len(shape) == 1 else [draw.gauss(0, _DEVIATION)
                                                        for _ in range(count)]
        if name == "lm_head.weight":  # the end token can never be the largest logit
            start = CONFIG["eos_token_id"] * shape[1]
            values[start:start + shape[1]] = [0.0] * shape[1]
        blob = _upper_halves(np.array(values, np.float32))
        header[name] = {"dtype": "BF16", "shape": shape,
                        "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(
        len(text).to_bytes(8, "little") + text + b"".join(blobs))
    (folder / "config.json").write_text(json.dumps(CONFIG))


def _upper_halves(values: np.ndarray) -> bytes:
    """bfloat16 by cutting off, not rounding: what the comparison's checkpoint holds."""
    cut = (values.view(np.uint32) & 0xFFFF0000).view(np.float32)
    return pack(cut, "bfloat16")


def _shapes() -> list[tuple[str, list[int]]]:
    width, inner, vocabulary = (int(str(CONFIG[name])) for name in
                                ("hidden_size", "intermediate_size", "vocab_size"))
    keys = 2 * 64
    shapes = [("model.embed_tokens.weight", [vocabulary, width])]
    for layer in range(4):
        block = f"model.layers.{layer}."
        shapes += [
            (block + "input_layernorm.weight", [width]),
            (block + "self_attn.q_proj.weight", [width, width]),
            (block + "self_attn.k_proj.weight", [keys, width]),
            (block + "self_attn.v_proj.weight", [keys, width]),
            (block + "self_attn.o_proj.weight", [width, width]),
            (block + "post_attention_layernorm.weight", [width]),
            (block + "mlp.gate_proj.weight", [inner, width]),
            (block + "mlp.up_proj.weight", [inner, width]),
            (block + "mlp.down_proj.weight", [width, inner])]
    return [*shapes, ("model.norm.weight", [width]), ("lm_head.weight", [vocabulary, width])]
