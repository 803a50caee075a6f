"""A folder of the origin private file system as `Files`, through `web/opfs.js`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pyodide.ffi import JsException, to_js

from tabgrad.errors import StorageError
from tabgrad.platform.browser_seam import seam
from tabgrad.platform.files_protocol import BytesLike, Entry, as_bytes, ends_early, split_path

PIECE_BYTES = 4 * 2**20
"""Longest piece that is copied to JavaScript at once."""
REMEDIES = {
    "NoModificationAllowedError": "Another tab is using it: close that tab, or wait.",
    "QuotaExceededError": "The browser's storage is full: delete a run, or free disk space.",
    "SecurityError": "This browser keeps no files here; private windows often do not.",
    "NotSupportedError": "Run Python in a Web Worker: browsers let only workers write these files.",
}

# Names of the errors that files throw, and nothing else does.
STORAGE_NAMES = frozenset((*REMEDIES, "NotFoundError", "NotReadableError", "InvalidStateError",
                           "TypeMismatchError"))


@contextmanager
def storage_errors(action: str, path: str) -> Iterator[None]:
    """Turns what JavaScript throws into a `StorageError` that says what was tried on which file."""
    try:
        yield
    except JsException as error:
        raise storage_error(action, path, error) from error


def storage_error(action: str, path: str, error: Any) -> StorageError:
    """What the browser said when a file could not be used."""
    return StorageError(f"{path} cannot be {action}.",
                        received=f"{error.name}: {error.message}",
                        remedy=REMEDIES.get(str(error.name)))


def checked(path: str) -> str:
    """The path, once it is known to stay inside the folder."""
    split_path(path)
    return path


class BrowserLock:
    """A Web Lock, held until released or until the tab ends."""

    def __init__(self, release: Any) -> None:
        self._release = release

    def release(self) -> None:
        """Lets the next one have it; a second call does nothing."""
        if self._release is not None:
            self._release()
            self._release = None


class BrowserFiles:
    """The files under one folder."""

    def __init__(self, root: str) -> None:
        self._root = checked(root)
        self._opened: Any = None

    async def _files(self) -> Any:
        if self._opened is None:
            with storage_errors("opened", "The browser's storage"):
                self._opened = await (await seam()).openFiles(self._root)
        return self._opened

    async def read(self, path: str) -> bytes:
        """All bytes of a file."""
        files = await self._files()
        with storage_errors("read", path):
            return bytes((await files.read(checked(path))).to_bytes())

    async def read_range(self, path: str, offset: int, size: int) -> bytes:
        """Exactly `size` bytes from `offset` on.

        Raises:
            StorageError: the file ends before, or cannot be read.
        """
        files = await self._files()
        with storage_errors("read", path):
            data = bytes((await files.readRange(checked(path), offset, size)).to_bytes())
        if len(data) != size:
            raise ends_early(path, offset, size)
        return data

    async def size(self, path: str) -> int:
        """Length of a file in bytes."""
        files = await self._files()
        with storage_errors("measured", path):
            return int(await files.size(checked(path)))

    async def opened(self) -> Any:
        """The object of `web/opfs.js`, for what goes between JavaScript and the GPU directly."""
        return await self._files()

    async def write(self, path: str, chunks: Iterable[BytesLike]) -> int:
        """Writes a file in pieces, makes its folders, flushes to the disk; bytes written."""
        files = await self._files()
        with storage_errors("written", path):
            writer = await files.write(checked(path))
            try:
                for chunk in chunks:
                    view = as_bytes(chunk)
                    for start in range(0, view.nbytes, PIECE_BYTES):
                        writer.write(to_js(view[start:start + PIECE_BYTES]))
            finally:
                written = int(writer.close())
        return written

    async def replace(self, source: str, target: str) -> None:
        """Moves a file over another in one step: a reader sees the old or the new one."""
        files = await self._files()
        with storage_errors("replaced", target):
            await files.replace(checked(source), checked(target))

    async def remove(self, path: str) -> None:
        """Removes a file, or a folder with all in it; missing is fine."""
        files = await self._files()
        with storage_errors("removed", path):
            await files.remove(checked(path))

    async def list(self, path: str) -> list[Entry]:
        """What a folder holds, by name; a missing folder holds nothing."""
        files = await self._files()
        with storage_errors("listed", path):
            rows = json.loads(await files.list(checked(path)))
        return sorted((Entry(row["name"], row["isFolder"], row["size"]) for row in rows),
                      key=lambda entry: entry.name)

    async def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        files = await self._files()
        with storage_errors("looked up", path):
            return bool(await files.exists(checked(path)))

    async def lock(self, name: str) -> BrowserLock | None:
        """Makes this the only holder of `name` over all tabs; None if another has it."""
        files = await self._files()
        with storage_errors("locked", name):
            release = await files.lock(checked(name))
        return None if release is None else BrowserLock(release)

    async def usage(self) -> tuple[int, int | None]:
        """Bytes that this origin uses, and its quota."""
        files = await self._files()
        with storage_errors("measured", "The browser's storage"):
            used, quota = json.loads(await files.usage())
        return int(used), None if quota is None else int(quota)
