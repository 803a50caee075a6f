"""Small models in hub layout, and large ones that are made as they are asked for."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from tests.faulty_host import Generated, sharded

CONFIG: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32,
    "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
    "intermediate_size": 16, "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True,
    "attention_bias": False, "mlp_bias": False, "torch_dtype": "float32"}
TOKENIZER = b'{"version": "1.0", "model": {"type": "WordLevel", "vocab": {}}}'
README = b"---\nlanguage: en\nlicense: apache-2.0\n---\n# A tiny model\n"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


def tensors(seed: int = 0) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """Two matrices and a gain."""
    random = np.random.default_rng(seed)
    return {name: random.standard_normal(shape, np.float32) for name, shape in
            {"model.embed_tokens.weight": (32, 8), "model.norm.weight": (8,),
             "model.layers.0.mlp.down_proj.weight": (8, 16)}.items()}


def folder(shards: int = 1) -> dict[str, bytes]:
    """The files of a model, in so many shards."""
    files = {"config.json": json.dumps(CONFIG).encode(), "tokenizer.json": TOKENIZER,
             "README.md": README, "generation_config.json": b'{"eos_token_id": 2}'}
    if shards == 1:
        return {**files, WEIGHTS: sharded(tensors())}
    names = list(tensors())
    where = {name: f"model-{i % shards + 1:05}-of-{shards:05}.safetensors"
             for i, name in enumerate(names)}
    for file in sorted(set(where.values())):
        files[file] = sharded({name: array for name, array in tensors().items()
                               if where[name] == file})
    files[INDEX] = json.dumps({"metadata": {}, "weight_map": where}).encode()
    return files


def at(path: str, files: dict[str, Any]) -> dict[str, Any]:
    """The files below a path."""
    return {f"{path}/{name}": content for name, content in files.items()}


def on_hub(model: str, files: dict[str, Any], commit: str = "c0ffee12" * 5, *,
           hashes: bool = True, **described: Any) -> dict[str, Any]:
    """What a hub serves for a model: its description and the files of one commit."""
    siblings = []
    for name, content in files.items():
        row: dict[str, Any] = {"rfilename": name, "size": content.size if isinstance(
            content, Generated) else len(content)}
        if name.endswith(".safetensors") and hashes:
            row["lfs"] = {"size": row["size"], "sha256": content.sha256 if isinstance(
                content, Generated) else hashlib.sha256(content).hexdigest()}
        siblings.append(row)
    table = {"id": model, "sha": commit, "siblings": siblings, "gated": False,
             "cardData": {"license": "mit"}, **described}
    return {f"api/models/{model}/revision/main": json.dumps(table).encode(),
            **at(f"{model}/resolve/{commit}", files), **at(f"{model}/resolve/main", files)}


def large(matrices: int, rows: int, columns: int) -> Generated:
    """A file of float32 matrices "0", "1", ... whose bytes are made as they are asked for."""
    size = 4 * rows * columns
    table = {str(i): {"dtype": "F32", "shape": [rows, columns],
                      "data_offsets": [i * size, (i + 1) * size]} for i in range(matrices)}
    header = json.dumps(table).encode()
    head = len(header).to_bytes(8, "little") + header
    return Generated(head, len(head) + matrices * size)
