"""A model in a folder: its settings in memory, its weights on disk until the GPU takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.checkpoint.safetensors import Header, decode_header
from tabgrad.checkpoint.shards import (
    INDEX,
    INDEX_LIMIT,
    WEIGHTS,
    StoredTensor,
    gather,
    header_bytes,
    named,
    parse_index,
)
from tabgrad.checkpoint.strict_json import parse_object
from tabgrad.errors import CheckpointError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.platform import Files
from tabgrad.reference.stored import unpack

CONFIG, GENERATION_CONFIG = "config.json", "generation_config.json"
CONFIG_LIMIT = 2**20
FILE_LIMIT = 64 * 2**20
"""Longest file that `StoredModel.read` brings into memory: the largest tokenizers have 33 MB."""
SMALL_TENSOR = 16 * 2**20
"""Longest tensor that `StoredModel.read_tensor` brings into memory; matrices are uploaded."""


class StoredModel:
    """A model whose files are complete, and which tensor lies where in them.

    Attributes:
        name: of its folder.
        config: config.json.
        generation_config: generation_config.json, or {} where there is none.
        tensors: name -> StoredTensor, of all files.
    """

    def __init__(self, files: Files, path: str, config: dict[str, Any],
                 generation_config: dict[str, Any], tensors: dict[str, StoredTensor],
                 name: str) -> None:
        self.name = name
        self.config = config
        self.generation_config = generation_config
        self.tensors = tensors
        self._files = files
        self._path = path

    def _inside(self, file: str) -> str:
        return f"{self._path}/{file}" if self._path else file

    async def read(self, file: str) -> bytes | None:
        """All bytes of one of its small files (tokenizer.json); None where there is none.

        Raises:
            CheckpointError: it is longer than 64 MiB.
        """
        return await _read_small(self._files, self._inside(file), FILE_LIMIT)

    def tensor(self, name: str) -> StoredTensor:
        """The tensor of that name; CheckpointError where there is none."""
        if name not in self.tensors:
            raise CheckpointError(f"This model has no tensor {name}.",
                                  received=f"{len(self.tensors)} others")
        return self.tensors[name]

    async def upload(self, tensor: StoredTensor | str, region: Region, *, offset: int = 0,
                     size: int | None = None) -> None:
        """Copies a tensor, or a part of it, to the GPU as it is stored.

        Args:
            tensor: one of `tensors`, or its name.
            region: of the current device; `ceil(size / 4) * 4` bytes.
            offset: first byte of the part, from the tensor's start.
            size: bytes of the part; all from `offset` on if None.

        Raises:
            CheckpointError: the part reaches beyond the tensor.
            KernelError: a region of another size.
            StorageError: the file cannot be read, or ends before.
        """
        found = self.tensor(tensor if isinstance(tensor, str) else tensor.name)
        size = found.size - offset if size is None else size
        if offset < 0 or size < 1 or offset + size > found.size:
            raise CheckpointError(f"{found.name}: a part reaches beyond the tensor.",
                                  expected=f"0 to {found.size} bytes",
                                  received=f"{offset} to {offset + size}")
        await current_device().upload(region, self._files, self._inside(found.file),
                                      found.offset + offset, size)

    async def read_tensor(self, name: str) -> NDArray[np.float32]:
        """A small tensor (gains, biases) as float32, through memory; its own shape.

        Raises:
            CheckpointError: none of that name; longer than 16 MiB; not float32, bfloat16, float16.
        """
        found = self.tensor(name)
        if found.size > SMALL_TENSOR:
            raise CheckpointError(f"{name} is too large to be read through memory.",
                                  expected=f"at most {SMALL_TENSOR} bytes",
                                  received=f"{found.size}", remedy="Use upload.")
        return (await self.read_numbers(found, 0, found.count)).reshape(found.shape)

    async def read_numbers(self, tensor: StoredTensor, start: int,
                           count: int) -> NDArray[np.float32]:
        """Part of a tensor as float32, through memory: (count,).

        Args:
            tensor: one of `tensors`, of float32, bfloat16 or float16.
            start: the first number.
            count: how many.

        Raises:
            CheckpointError: it has other numbers.
        """
        tensor.check_format()
        item = tensor.size // tensor.count
        data = await self._files.read_range(self._inside(tensor.file),
                                            tensor.offset + start * item, count * item)
        return unpack(data, tensor.dtype)


async def open_folder(files: Files, path: str, name: str | None = None) -> StoredModel:
    """Opens a model in hub layout: config.json, and model.safetensors or shards with their index.

    Only the headers of the weights are read.

    Args:
        files: where the folder lies.
        path: of the folder; "" is `files` itself.
        name: of the model; the folder's if None.

    Raises:
        CheckpointError: a file is missing, or not what it should be.
        StorageError: a file cannot be read.
    """
    def inside(file: str) -> str:
        return f"{path}/{file}" if path else file

    present = {entry.name: entry.size for entry in await files.list(path) if not entry.is_folder}
    config = await _read_config(files, inside(CONFIG), CONFIG)
    if config is None:
        raise CheckpointError("This folder is no model: it has no config.json.",
                              received=", ".join(sorted(present))[:200] or "an empty folder")
    generation = await _read_config(files, inside(GENERATION_CONFIG), GENERATION_CONFIG)
    index = None
    if INDEX in present:
        index = parse_index(await _read_small(files, inside(INDEX), INDEX_LIMIT) or b"")
    names = sorted(set(index.values())) if index is not None else [WEIGHTS]
    missing = [name for name in names if name not in present]
    if missing:
        raise CheckpointError("This folder lacks weights.", expected=", ".join(missing)[:200],
                              received=", ".join(sorted(present))[:200],
                              remedy="Only safetensors are read here, no .bin and no .gguf.")
    headers = {name: await _read_header(files, inside(name), name, present[name])
               for name in names}
    return StoredModel(files, path, config, generation or {}, gather(headers, index),
                       path.rsplit("/", 1)[-1] if name is None else name)


async def _read_small(files: Files, path: str, limit: int) -> bytes | None:
    if not await files.exists(path):
        return None
    size = await files.size(path)
    if size > limit:
        raise CheckpointError(f"{path} is too long for what it should be.",
                              expected=f"at most {limit:,} bytes", received=f"{size:,} bytes")
    return await files.read(path)


async def _read_config(files: Files, path: str, name: str) -> dict[str, Any] | None:
    data = await _read_small(files, path, CONFIG_LIMIT)
    return None if data is None else parse_object(data, name, CONFIG_LIMIT)


async def _read_header(files: Files, path: str, name: str, size: int) -> Header:
    try:
        start = await files.read_range(path, 0, min(8, size))
        length = header_bytes(start)
        data = await files.read_range(path, 0, min(length, size))
        return decode_header(data, size)
    except CheckpointError as error:
        raise named(error, name) from error
