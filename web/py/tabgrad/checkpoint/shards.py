"""Which tensor lies where: the headers of one or many safetensors files become one table.

A hub folder has either `model.safetensors`, or shards and `model.safetensors.index.json`, which
names the shard of every tensor. Both may come from anywhere, so every claim is checked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tabgrad.checkpoint.safetensors import Header
from tabgrad.checkpoint.strict_json import parse_object
from tabgrad.errors import CheckpointError
from tabgrad.reference.stored import FORMATS

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
INDEX_LIMIT = 32 * 2**20
HEADER_LIMIT = 16 * 2**20
"""Longest header of a model's file: it is read into memory. Real ones have some hundred KB."""
MAX_SHARDS = 1000
# The format's names, and ours.
DTYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16", "F64": "float64",
          "F8_E5M2": "float8_e5m2", "F8_E4M3": "float8_e4m3", "I64": "int64", "I32": "int32",
          "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16",
          "U8": "uint8", "BOOL": "bool"}


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file.

    Args:
        name: as the file says.
        file: name of the file.
        dtype: "float32", "bfloat16", "float16", or another of `DTYPES`.
        shape: its axes.
        offset: first byte in the file.
        size: length in bytes.
    """

    name: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int

    @property
    def count(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    def check_format(self) -> None:
        """Raises CheckpointError unless its numbers are float32, bfloat16 or float16."""
        if self.dtype not in FORMATS:
            raise CheckpointError(f"{self.name} has numbers that are not read here.",
                                  expected=", ".join(FORMATS), received=self.dtype,
                                  remedy="Choose a checkpoint that is not quantised.")


def check_file_name(name: object, source: str) -> str:
    """The name, once it is known to be the plain name of a file beside `source`.

    Raises:
        CheckpointError: it could lead out of the folder, or is no name.

    Example:
        >>> check_file_name("model-00001-of-00002.safetensors", "an index")
        'model-00001-of-00002.safetensors'
    """
    plain = isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable() and not any(
        sign in name for sign in '/\\:*?"<>|%#') and not name.startswith(".")
    if not plain:
        raise CheckpointError(f"{source} names a file that is not allowed.",
                              expected="plain names of files in the same folder",
                              received=repr(name)[:100])
    assert isinstance(name, str)
    return name


def parse_index(data: bytes) -> dict[str, str]:
    """Name of each tensor -> name of its file, as `model.safetensors.index.json` says.

    Raises:
        CheckpointError: no such file, a name with "/" or "..", too many files.

    Example:
        >>> parse_index(b'{"weight_map": {"a": "model-1.safetensors"}}')
        {'a': 'model-1.safetensors'}
    """
    table = parse_object(data, INDEX, INDEX_LIMIT).get("weight_map")
    if not isinstance(table, dict) or not table:
        raise CheckpointError(f"{INDEX} has no weight_map.", expected="tensor name -> file name")
    for file in set(map(str, table.values())) | {value for value in table.values()
                                                 if isinstance(value, str)}:
        check_file_name(file, INDEX)
    if not all(isinstance(file, str) and file.endswith(".safetensors")
               for file in table.values()):
        raise CheckpointError(f"{INDEX} names a file that is no safetensors file.",
                              remedy="Only safetensors are read here.")
    if len(set(table.values())) > MAX_SHARDS:
        raise CheckpointError(f"{INDEX} names too many files.", expected=f"at most {MAX_SHARDS}",
                              received=str(len(set(table.values()))))
    return table


def gather(headers: Mapping[str, Header], index: Mapping[str, str] | None = None
           ) -> dict[str, StoredTensor]:
    """All tensors of a model in one table.

    Args:
        headers: name of each file -> its checked header.
        index: name of each tensor -> name of its file; None where there is only one file.

    Raises:
        CheckpointError: a tensor that two files have, or that is not where the index says.
    """
    tensors: dict[str, StoredTensor] = {}
    for file, header in headers.items():
        for name, entry in header.entries.items():
            if name in tensors:
                raise CheckpointError(f"The tensor {name} is there twice.",
                                      received=f"{tensors[name].file} and {file}")
            tensors[name] = StoredTensor(name, file, DTYPES[entry.dtype], entry.shape,
                                         header.data_start + entry.start, entry.end - entry.start)
    for name, file in (index or {}).items():
        if name not in tensors or tensors[name].file != file:
            raise CheckpointError(f"The tensor {name} is not where {INDEX} says.", expected=file,
                                  received=tensors[name].file if name in tensors else "nowhere",
                                  remedy="The folder is incomplete or mixed: get it again.")
    return tensors


def header_bytes(start: bytes) -> int:
    """Bytes from the start of a file to the end of its header, whose first 8 bytes are given.

    Raises:
        CheckpointError: a header longer than 16 MiB.
    """
    length = int.from_bytes(start[:8], "little")
    if length > HEADER_LIMIT:
        raise CheckpointError("safetensors: the header is too long; this is another kind of file.",
                              expected=f"at most {HEADER_LIMIT} bytes", received=f"{length} bytes")
    return 8 + length


def named(error: CheckpointError, file: str) -> CheckpointError:
    """The same error, with the name of the file in front."""
    return CheckpointError(f"{file}: {error.message}", expected=error.expected,
                           received=error.received, remedy=error.remedy)
