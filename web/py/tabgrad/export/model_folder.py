"""A model as Transformers' folder: config.json, tokenizer, model.safetensors and a model card."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.checkpoint.folder import CONFIG, MODEL
from tabgrad.checkpoint.safetensors import encode
from tabgrad.errors import SettingsError
from tabgrad.export.byte_tokenizer import byte_tokenizer_files
from tabgrad.reference.stored import FORMATS, rounded
from tabgrad.text.tokenizer import TOKENIZER

README, GENERATION = "README.md", "generation_config.json"
_BYTES = 256


def model_folder(config: Mapping[str, Any], tensors: Mapping[str, NDArray[np.float32]],
                 dtype: str, text_files: Mapping[str, bytes],
                 card: str) -> dict[str, Iterable[bytes]]:
    """The files of a model: flat name -> pieces.

    Args:
        config: config.json of the base, or of the recipe; its dtype is replaced.
        tensors: name in the file -> float32.
        dtype: "float32", "bfloat16" or "float16".
        text_files: tokenizer.json and what belongs to it, generation_config.json; for a model
            that reads bytes they are made.
        card: README.md.

    Raises:
        SettingsError: an unknown dtype, or weights that float16 cannot hold.
    """
    if dtype not in FORMATS:
        raise SettingsError("The precision is not known.", control="dtype",
                            expected=" or ".join(FORMATS), received=dtype)
    if dtype == "float16":
        _check_range(tensors)
    texts = dict(text_files)
    if TOKENIZER not in texts and config.get("vocab_size") == _BYTES:
        texts |= byte_tokenizer_files()
    texts.setdefault(GENERATION, b'{"do_sample": true, "temperature": 0.8}')
    settings = {name: value for name, value in config.items() if name != "torch_dtype"}
    return {CONFIG: [json.dumps({**settings, "dtype": dtype}, indent=1).encode()],
            MODEL: encode(tensors, {"format": "pt"}, dtype), README: [card.encode()],
            **{name: [data] for name, data in texts.items()}}


def _check_range(tensors: Mapping[str, NDArray[np.float32]]) -> None:
    """float16 ends at 65504: a weight beyond it would become infinity."""
    for name, array in tensors.items():
        if not np.isfinite(rounded(array, "float16")).all() and np.isfinite(array).all():
            raise SettingsError(f"{name} has weights that float16 cannot hold.", control="dtype",
                                expected="at most 65504", received=f"{np.abs(array).max():.4g}",
                                remedy="Choose bfloat16 or float32.")
