"""Files: what OPFS and a folder of the disk both give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from tabgrad.errors import StorageError

BytesLike: TypeAlias = bytes | bytearray | memoryview | np.ndarray[Any, np.dtype[Any]]


def as_bytes(data: BytesLike) -> memoryview:
    """The bytes as a flat view, without a copy where they are contiguous.

    Example:
        >>> as_bytes(np.zeros((2, 3), np.float32)).nbytes
        24
    """
    if isinstance(data, np.ndarray):
        return np.ascontiguousarray(data).reshape(-1).view(np.uint8).data
    return memoryview(data).cast("B")


@dataclass(frozen=True)
class Entry:
    """One file or folder in a listing; `size` in bytes, 0 for a folder."""

    name: str
    is_folder: bool
    size: int


class Lock(Protocol):
    """Held until released."""

    def release(self) -> None:
        """Lets the next one have it; a second call does nothing."""


class Files(Protocol):
    """A private folder. Paths are relative with "/"; every failure is a `StorageError`."""

    async def read(self, path: str) -> bytes:
        """All bytes of a file."""

    async def read_range(self, path: str, offset: int, size: int) -> bytes:
        """Exactly `size` bytes from `offset` on; a file that ends before is an error."""

    async def size(self, path: str) -> int:
        """Length of a file in bytes."""

    async def write(self, path: str, chunks: Iterable[BytesLike]) -> int:
        """Writes a file in pieces, makes its folders, flushes to the disk; bytes written."""

    async def replace(self, source: str, target: str) -> None:
        """Moves a file over another in one step: a reader sees the old or the new one."""

    async def remove(self, path: str) -> None:
        """Removes a file, or a folder with all in it; missing is fine."""

    async def list(self, path: str) -> list[Entry]:
        """What a folder holds, by name; a missing folder holds nothing."""

    async def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""

    async def lock(self, name: str) -> Lock | None:
        """Makes this the only holder of `name` over all tabs or processes; None if one has it."""

    async def usage(self) -> tuple[int, int | None]:
        """Bytes used, and bytes that may be used (None when unknown)."""


def ends_early(path: str, offset: int, size: int) -> StorageError:
    """The error of a read that reaches beyond the end of a file."""
    return StorageError(f"{path} ends before it should.",
                        expected=f"bytes {offset} to {offset + size}",
                        remedy="Delete it and get it again.")


def split_path(path: str) -> list[str]:
    """The parts of a relative path.

    Raises:
        StorageError: the path is absolute, empty between slashes, or leaves the folder.

    Example:
        >>> split_path("runs/a/step-10")
        ['runs', 'a', 'step-10']
        >>> split_path("")
        []
    """
    if path == "":
        return []
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
        raise StorageError("This path cannot be used.", received=repr(path),
                           expected='names joined by "/", without ".." and without a leading "/"')
    return parts
