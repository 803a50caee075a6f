"""A learned vocabulary as the files that Hugging Face's libraries read."""

from __future__ import annotations

import json
from typing import Any

from tabgrad.text.bpe_trainer import Bpe
from tabgrad.text.tokenizer import SETTINGS, TOKENIZER


def bpe_files(bpe: Bpe) -> dict[str, bytes]:
    """tokenizer.json and tokenizer_config.json: name -> JSON.

    Example:
        >>> files = bpe_files(Bpe({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
        >>> json.loads(files["tokenizer.json"])["model"]["merges"]
        [['a', 'b']]
    """
    return {TOKENIZER: _written(tokenizer_json(bpe)), **settings_files(*bpe.special_tokens[:1])}


def settings_files(eos_token: str | None = None) -> dict[str, bytes]:
    """tokenizer_config.json, with the token that ends a text, if there is one."""
    return {SETTINGS: _written({
        "tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        **({"eos_token": eos_token} if eos_token else {})})}


def _written(table: dict[str, Any]) -> bytes:
    return (json.dumps(table, ensure_ascii=False, indent=1) + "\n").encode()


def tokenizer_json(bpe: Bpe) -> dict[str, Any]:
    """What `tokenizers` saves of a byte-level BPE: `Tokenizer.from_str` reads it."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [
            {"id": bpe.vocab[token], "content": token, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True}
            for token in bpe.special_tokens],
        "normalizer": None, "pre_tokenizer": byte_level, "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": bpe.vocab, "merges": [list(pair) for pair in bpe.merges]}}
