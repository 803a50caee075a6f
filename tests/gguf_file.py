"""Reads what our tests need of a GGUF file: its metadata, and float32 tensors.

The layout is that of the format's specification (ggml, docs/gguf.md). Of the block formats there
are Q8_0 (32 signed bytes, one scale) and Q4_1 (32 nibbles, scale and minimum).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

BLOCK = 32
FLOAT32, Q4_1, Q8_0 = 0, 3, 8
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
            12: "d"}
_STRING, _ARRAY = 8, 9
_Q4_1 = np.dtype([("scale", "<f2"), ("minimum", "<f2"), ("nibbles", "u1", BLOCK // 2)])
_Q8_0 = np.dtype([("scale", "<f2"), ("values", "i1", BLOCK)])


class GgufFile:
    """An open GGUF file.

    Attributes:
        metadata: key -> value.
        shapes: name of a tensor -> its shape, rows first.
    """

    def __init__(self, path: Path) -> None:
        self._data = memoryview(np.memmap(path, np.uint8, "r"))
        self._at = 0
        assert bytes(self._data[:4]) == b"GGUF", f"{path.name} is no GGUF file"
        self._at = 4
        version, tensors, keys = self._number("I"), self._number("Q"), self._number("Q")
        assert version == 3, f"GGUF version {version}"
        self.metadata = dict(self._pair() for _ in range(keys))
        self._tensors = dict(self._description() for _ in range(tensors))
        self.shapes = {name: shape for name, (shape, _, _) in self._tensors.items()}
        alignment = self.metadata.get("general.alignment", 32)
        self._start = -(-self._at // alignment) * alignment

    def tensor(self, name: str) -> Floats:
        """A tensor's values."""
        shape, kind, offset = self._tensors[name]
        count = int(np.prod(shape))
        place = self._start + offset
        if kind == FLOAT32:
            return np.frombuffer(self._data, np.float32, count, place).reshape(shape)
        if kind == Q8_0:
            blocks = np.frombuffer(self._data, _Q8_0, count // BLOCK, place)
            values = blocks["values"].astype(np.float32)
            return (values * blocks["scale"].astype(np.float32)[:, None]).reshape(shape)
        assert kind == Q4_1, f"{name}: GGUF tensors of type {kind} are not read"
        blocks = np.frombuffer(self._data, _Q4_1, count // BLOCK, place)
        nibbles = blocks["nibbles"]  # the low halves are the block's first 16 values
        values = np.concatenate([nibbles & 15, nibbles >> 4], axis=1).astype(np.float32)
        scale, minimum = (blocks[field].astype(np.float32)[:, None]
                          for field in ("scale", "minimum"))
        return (values * scale + minimum).reshape(shape)

    def _number(self, form: str) -> Any:
        value, = struct.unpack_from("<" + form, self._data, self._at)
        self._at += struct.calcsize("<" + form)
        return value

    def _string(self) -> str:
        length = self._number("Q")
        self._at += length
        return bytes(self._data[self._at - length:self._at]).decode("utf-8")

    def _pair(self) -> tuple[str, Any]:
        return self._string(), self._value(self._number("I"))

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            inner, length = self._number("I"), self._number("Q")
            return [self._value(inner) for _ in range(length)]
        return self._number(_SCALARS[kind])

    def _description(self) -> tuple[str, tuple[tuple[int, ...], int, int]]:
        name, axes = self._string(), self._number("I")
        shape = tuple(self._number("Q") for _ in range(axes))[::-1]  # written innermost first
        kind, offset = self._number("I"), self._number("Q")
        return name, (shape, kind, offset)
