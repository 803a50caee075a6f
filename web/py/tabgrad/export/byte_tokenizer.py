"""The files of a tokenizer whose tokens are the 256 bytes, for models that read bytes."""

from __future__ import annotations

import json
from typing import Any

from tabgrad.text.decoding import CHARACTER_OF
from tabgrad.text.tokenizer import SETTINGS, TOKENIZER


def byte_tokenizer_files() -> dict[str, bytes]:
    """tokenizer.json and its settings: byte-level BPE without a single merge, id = byte.

    Example:
        >>> vocabulary = json.loads(byte_tokenizer_files()["tokenizer.json"])["model"]["vocab"]
        >>> len(vocabulary), vocabulary["A"], vocabulary[chr(0x120)]
        (256, 65, 32)
    """
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False,
             "use_regex": False}
    tokenizer: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {CHARACTER_OF[byte]: byte for byte in range(256)}, "merges": []}}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    return {TOKENIZER: json.dumps(tokenizer, ensure_ascii=False).encode(),
            SETTINGS: json.dumps(settings, indent=1).encode()}
