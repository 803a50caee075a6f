"""`manifest.json`: the last file of a checkpoint, which makes it exist.

It names every file with its length and SHA-256. A step folder whose manifest is missing, or whose
files are not as it says, is not a checkpoint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tabgrad.errors import CheckpointError
from tabgrad.platform import Files
from tabgrad.text.json_object import parse_json

MANIFEST = "manifest.json"
VERSION = 1


@dataclass(frozen=True)
class Summary:
    """What a list of runs shows of a checkpoint.

    Args:
        step: optimiser steps done.
        saved_at: seconds since 1970.
        loss: last training loss in nats per byte; None before the first step.
        validation_loss: newest validation loss in nats per byte; None without one.
    """

    step: int
    saved_at: float
    loss: float | None = None
    validation_loss: float | None = None


@dataclass(frozen=True)
class FileRecord:
    """Length in bytes and SHA-256 of one file."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """A checkpoint's summary and its files."""

    summary: Summary
    files: dict[str, FileRecord] = field(default_factory=dict)

    @property
    def total_bytes(self) -> int:
        """Length of all files together."""
        return sum(record.bytes for record in self.files.values())

    @classmethod
    def of(cls, summary: Summary, files: Mapping[str, bytes]) -> Manifest:
        """The manifest of files that are in memory."""
        return cls(summary, {name: FileRecord(len(data), hashlib.sha256(data).hexdigest())
                             for name, data in files.items()})

    def encode(self) -> bytes:
        """As JSON."""
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1).encode()

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        """Reads and checks the JSON.

        Raises:
            CheckpointError: it is not a manifest of this version.
        """
        table = parse_json(data, MANIFEST)
        if table.get("version") != VERSION:
            raise CheckpointError("This checkpoint was written by another version.",
                                  expected=f"version {VERSION}",
                                  received=f"version {table.get('version')}")
        try:
            summary = Summary(**table["summary"])
            files = {str(name): FileRecord(**record) for name, record in table["files"].items()}
            _check_types(summary, files)
        except (KeyError, TypeError, AttributeError) as error:
            raise CheckpointError("manifest.json has wrong fields.",
                                  received=str(error)) from error
        return cls(summary, files)

    def verify(self, name: str, data: bytes) -> None:
        """Raises CheckpointError when `data` is not the file that the manifest names."""
        record = self.files.get(name)
        if record is None:
            raise CheckpointError(f"The checkpoint has no {name}.")
        if len(data) != record.bytes:
            raise CheckpointError(f"{name} is not complete.", expected=f"{record.bytes} bytes",
                                  received=f"{len(data)} bytes")
        if hashlib.sha256(data).hexdigest() != record.sha256:
            raise CheckpointError(f"{name} is damaged: its checksum is another one.")


class Hashed:
    """Passes the pieces of a file on and keeps their length and SHA-256.

    Example:
        >>> pieces = Hashed([b"ab", b"c"])
        >>> b"".join(pieces), pieces.record().bytes, pieces.record().sha256[:8]
        (b'abc', 3, 'ba7816bf')
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self._hash = hashlib.sha256()
        self._bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._hash.update(piece)
            self._bytes += len(piece)
            yield piece

    def record(self) -> FileRecord:
        """Length and checksum of what has passed."""
        return FileRecord(self._bytes, self._hash.hexdigest())


async def read_json(files: Files, path: str) -> dict[str, Any]:
    """Reads a JSON object from a file."""
    return parse_json(await files.read(path), path)


async def write_json(files: Files, path: str, table: Mapping[str, Any]) -> None:
    """Writes a JSON object: first beside, then moved into place, so that it is never half."""
    await files.write(path + ".tmp", [json.dumps(table, indent=1).encode()])
    await files.replace(path + ".tmp", path)


def _check_types(summary: Summary, files: Mapping[str, FileRecord]) -> None:
    numbers = [summary.saved_at, *(value for value in (summary.loss, summary.validation_loss)
                                   if value is not None)]
    if type(summary.step) is not int or summary.step < 0:
        raise TypeError(f"step {summary.step!r}")
    if not all(type(number) in (int, float) for number in numbers):
        raise TypeError(f"numbers {numbers!r}")
    for name, record in files.items():
        if type(record.bytes) is not int or not isinstance(record.sha256, str):
            raise TypeError(f"file {name!r}")
        if "/" in name or name in ("", ".", "..", MANIFEST):
            raise TypeError(f"file name {name!r}")
