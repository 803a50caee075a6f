"""The two files of an adapter, as PEFT writes and reads them. Anybody may have written them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from tabgrad.checkpoint.safetensors import decode_header, encode
from tabgrad.errors import CheckpointError
from tabgrad.lora.config import LoraConfig
from tabgrad.lora.config_fields import CONFIG
from tabgrad.lora.names import State, module_of, tensor_names
from tabgrad.reference.stored import unpack

WEIGHTS = "adapter_model.safetensors"
LARGEST = 1 << 30  # bytes of the weights
_DTYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}


def write(state: Mapping[str, NDArray[np.float32]], config: LoraConfig,
          base: str) -> dict[str, Iterable[bytes]]:
    """An adapter as files.

    Args:
        state: see `Adapter.state`.
        config: see `Adapter.config`.
        base: name or address of the model under it.

    Returns:
        file name -> pieces.
    """
    return {CONFIG: [config.to_json(base)], WEIGHTS: encode(state, {"format": "pt"})}


def read(files: Mapping[str, bytes]) -> tuple[LoraConfig, State]:
    """The settings of an adapter and its tensors by PEFT's names, in float32.

    Args:
        files: path -> bytes; others than the two are passed over.

    Raises:
        CheckpointError: a file is missing, too long or damaged, asks for something that is not
            built in, or the tensors are not those of such an adapter.
    """
    config = LoraConfig.from_json(_file(files, CONFIG))
    data = _file(files, WEIGHTS)
    if len(data) > LARGEST:
        raise CheckpointError(f"{WEIGHTS} is too long for an adapter.",
                              expected=f"at most {LARGEST:,} bytes", received=f"{len(data):,}")
    state = _tensors(data)
    _check_pairs(config, state)
    return config, state


def _file(files: Mapping[str, bytes], name: str) -> bytes:
    found = [path for path in files if path.rpartition("/")[2] == name]
    if len(found) != 1:
        others = ", ".join(sorted(files))[:200]
        raise CheckpointError(f"An adapter has one {name}.", received=others or "no file",
                              remedy="Choose the adapter's folder, as PEFT saves it with "
                                     "safetensors.")
    return files[found[0]]


def _tensors(data: bytes) -> State:
    header = decode_header(data, len(data))
    state: State = {}
    for name, entry in header.entries.items():
        if entry.dtype not in _DTYPES or math.prod(entry.shape) == 0:
            raise CheckpointError(f"{name} has numbers that are not read here.",
                                  expected=", ".join(_DTYPES),
                                  received=f"{entry.dtype} {entry.shape}")
        raw = memoryview(data)[header.data_start + entry.start:header.data_start + entry.end]
        state[name] = unpack(raw, _DTYPES[entry.dtype]).reshape(entry.shape)
        if not np.isfinite(state[name]).all():
            raise CheckpointError(f"{name} has numbers that are not finite.")
    return state


def _check_pairs(config: LoraConfig, state: State) -> None:
    """Every module has an A (r, in) and a B (out, r), with the rank that the settings say."""
    modules = {module_of(name) for name in state}
    if not modules:
        raise CheckpointError(f"{WEIGHTS} is empty.")
    for module in modules:
        a, b = (state.get(name) for name in tensor_names(module))
        if a is None or b is None:
            raise CheckpointError(f"{module} has only one of A and B.")
        rank = config.rank_of(module)
        if a.ndim != 2 or b.ndim != 2 or a.shape[0] != rank or b.shape[1] != rank:
            raise CheckpointError(f"The matrices of {module} do not fit {CONFIG}.",
                                  expected=f"({rank}, in) and (out, {rank})",
                                  received=f"{a.shape} and {b.shape}")
