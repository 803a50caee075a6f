"""The safetensors format: 8 bytes of header length, a JSON header, raw little-endian tensors.

Written here because no `safetensors` wheel exists for Pyodide; natively the tests hold it against
the real package both ways. A file can come from anywhere, so every claim in its header is checked
before a byte is used: the offsets must tile the data section exactly, in any order, without a hole
and without an overlap, and shape times item size must be the length of each range.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import CheckpointError
from tabgrad.reference.stored import pack

Array = NDArray[Any]

HEADER_LIMIT = 100_000_000
_LENGTH_BYTES = 8
_ALIGNMENT = 8
# In the order in which the reference implementation lays tensors out: widest items first, so that
# every tensor starts at a multiple of its item size; BF16 stands before the others of its width.
_NUMPY_DTYPES = {
    "U64": "<u8", "I64": "<i8", "F64": "<f8", "F32": "<f4", "U32": "<u4", "I32": "<i4",
    "F16": "<f2", "U16": "<u2", "I16": "<i2", "I8": "|i1", "U8": "|u1", "BOOL": "|b1"}
# Known to the format, unknown to NumPy: read as raw unsigned integers of the same size.
_RAW_DTYPES = {"BF16": "<u2", "F8_E5M2": "|u1", "F8_E4M3": "|u1"}
_DTYPES = {name: np.dtype(code) for name, code in {**_NUMPY_DTYPES, **_RAW_DTYPES}.items()}
_NAMES = {np.dtype(code): name for name, code in _NUMPY_DTYPES.items()}
_FLOATS = {"float32": "F32", "bfloat16": "BF16", "float16": "F16"}
_RANK = {name: rank for rank, name in enumerate(
    name for width in (8, 4, 2, 1) for name in ("BF16", *_NUMPY_DTYPES)
    if _DTYPES[name].itemsize == width)}


@dataclass(frozen=True)
class Entry:
    """One tensor of a header: its dtype name, shape, and bytes [start, end) of the data section."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Header:
    """A checked header.

    Args:
        entries: name -> Entry, in the order of their bytes.
        metadata: text -> text.
        data_start: where the data section begins in the file, in bytes.
        file_size: length that the whole file must have, in bytes.
    """

    entries: dict[str, Entry]
    metadata: dict[str, str]
    data_start: int
    file_size: int


def encode(tensors: Mapping[str, Array], metadata: Mapping[str, str] | None = None,
           dtype: str = "float32") -> Iterator[bytes]:
    """The file, in pieces: header first, then one piece per tensor.

    Args:
        tensors: name -> array of any shape; integer, float16/32/64 or bool.
        metadata: text stored in the header under `__metadata__`.
        dtype: how float32 tensors are written: "float32", or rounded to "bfloat16" or "float16".
    Raises:
        CheckpointError: a dtype that the format does not have, or a reserved name.

    Example:
        >>> data = b"".join(encode({"a": np.arange(3, dtype=np.float32)}, {"by": "tabgrad"}))
        >>> tensors, metadata = decode(data)
        >>> tensors["a"].tolist(), metadata
        ([0.0, 1.0, 2.0], {'by': 'tabgrad'})
    """
    arrays = {name: _little_endian(name, array) for name, array in tensors.items()}
    kinds = {name: _FLOATS[dtype] if array.dtype == np.float32 else _NAMES[array.dtype]
             for name, array in arrays.items()}
    order = sorted(arrays, key=lambda name: (_RANK[kinds[name]], name))
    table: dict[str, Any] = {}
    if metadata:
        table["__metadata__"] = dict(metadata)
    offset = 0
    for name in order:
        size = arrays[name].size * _DTYPES[kinds[name]].itemsize
        table[name] = {"dtype": kinds[name], "shape": list(arrays[name].shape),
                       "data_offsets": [offset, offset + size]}
        offset += size
    header = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-len(header) % _ALIGNMENT)
    yield len(header).to_bytes(_LENGTH_BYTES, "little") + header
    for name in order:
        if arrays[name].dtype == np.float32:
            width = _DTYPES[kinds[name]].itemsize
            yield pack(arrays[name], dtype)[:width * arrays[name].size]
        else:
            yield arrays[name].tobytes()


def decode(data: bytes) -> tuple[dict[str, Array], dict[str, str]]:
    """Reads a whole file.

    Args:
        data: the bytes of the file.
    Returns:
        name -> array (a copy, native byte order), and the metadata. BF16 and F8 tensors come as
        unsigned integers with the same bits.
    Raises:
        CheckpointError: anything in the file is not as the format demands.
    """
    header = decode_header(data, len(data))
    tensors = {}
    for name, entry in header.entries.items():
        raw = np.frombuffer(data, dtype=_DTYPES[entry.dtype], count=math.prod(entry.shape),
                            offset=header.data_start + entry.start)
        if entry.dtype == "BOOL" and raw.view(np.uint8).max(initial=0) > 1:
            raise CheckpointError(f"safetensors: {name} has a BOOL that is neither 0 nor 1.")
        tensors[name] = raw.reshape(entry.shape).astype(raw.dtype.newbyteorder("="))
    return tensors, header.metadata


def decode_header(data: bytes, file_size: int) -> Header:
    """Parses and checks a header.

    Args:
        data: the first bytes of the file, at least 8 + header length.
        file_size: length of the whole file in bytes; it must be exactly what the header needs.
    Raises:
        CheckpointError: with what was expected and what came.
    """
    length = _header_length(data, file_size)
    data_start = _LENGTH_BYTES + length
    table = _parse(bytes(data[_LENGTH_BYTES:data_start]))
    metadata = _metadata(table.pop("__metadata__", {}))
    entries = {name: _entry(name, fields) for name, fields in table.items()}
    entries = dict(sorted(entries.items(), key=lambda item: (item[1].start, item[1].end)))
    end = _check_tiling(entries)
    if data_start + end != file_size:
        raise CheckpointError("safetensors: the file does not have the length its header says.",
                              expected=f"{data_start + end} bytes", received=f"{file_size} bytes")
    return Header(entries, metadata, data_start, file_size)


def _little_endian(name: str, array: Array) -> Array:
    if name == "__metadata__":
        raise CheckpointError("safetensors: __metadata__ is not a tensor's name.")
    converted = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    if converted.dtype not in _NAMES:
        raise CheckpointError(f"safetensors: {name} has a dtype that the format lacks.",
                              expected=", ".join(_NUMPY_DTYPES), received=str(array.dtype))
    return converted


def _header_length(data: bytes, file_size: int) -> int:
    if file_size < _LENGTH_BYTES or len(data) < _LENGTH_BYTES:
        raise CheckpointError("safetensors: the file is too short to have a header.",
                              expected="at least 8 bytes", received=f"{file_size} bytes")
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if length > HEADER_LIMIT:
        raise CheckpointError("safetensors: the header is too long; this is another kind of file.",
                              expected=f"at most {HEADER_LIMIT} bytes", received=f"{length} bytes")
    if _LENGTH_BYTES + length > min(file_size, len(data)):
        raise CheckpointError("safetensors: the file ends inside its header.",
                              expected=f"{_LENGTH_BYTES + length} bytes",
                              received=f"{min(file_size, len(data))} bytes")
    return length


def _parse(header: bytes) -> dict[str, Any]:
    if not header.startswith(b"{"):
        raise CheckpointError("safetensors: the header is not a JSON object.",
                              expected="'{'", received=repr(header[:1]))
    try:
        table = json.loads(header.decode("utf-8"), object_pairs_hook=_unique,
                           parse_constant=_refuse_constant)
        json.dumps(table, ensure_ascii=False).encode()        # refuses lone surrogates
    except (ValueError, RecursionError) as error:
        raise CheckpointError("safetensors: the header is not valid JSON.",
                              received=str(error)[:200]) from error
    if not isinstance(table, dict):
        raise CheckpointError("safetensors: the header is not a JSON object.")
    return table


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise CheckpointError("safetensors: a name occurs twice in the header.")
    return table


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _metadata(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise CheckpointError("safetensors: __metadata__ must hold only text.")
    return value


def _entry(name: str, fields: Any) -> Entry:
    if not isinstance(fields, dict) or set(fields) != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"safetensors: the entry of {name} has wrong fields.",
                              expected="dtype, shape, data_offsets", received=str(fields)[:100])
    dtype, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise CheckpointError(f"safetensors: {name} has a dtype that is not known here.",
                              expected=", ".join(_DTYPES), received=str(dtype)[:40])
    if not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise CheckpointError(f"safetensors: the shape or offsets of {name} are no sizes.",
                              received=f"{str(shape)[:60]}, {str(offsets)[:60]}")
    size = math.prod(shape) * _DTYPES[dtype].itemsize
    start, end = offsets
    if end - start != size:
        raise CheckpointError(f"safetensors: {name} has a range that does not fit its shape.",
                              expected=f"{size} bytes", received=f"{end - start} bytes")
    return Entry(dtype, tuple(shape), start, end)


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value < 1 << 63 for value in values)


def _check_tiling(entries: Mapping[str, Entry]) -> int:
    end = 0
    for name, entry in entries.items():
        if entry.start != end:
            kind = "overlaps the tensor before it" if entry.start < end else "leaves a hole"
            raise CheckpointError(f"safetensors: {name} {kind}.",
                                  expected=f"to start at {end}", received=str(entry.start))
        end = entry.end
    return end
