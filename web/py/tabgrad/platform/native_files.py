"""A folder of the disk as `Files`: flushed writes, atomic moves, one writer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tabgrad.errors import StorageError
from tabgrad.platform.files_protocol import BytesLike, Entry, as_bytes, ends_early, split_path


@contextmanager
def storage_errors(action: str, path: str) -> Iterator[None]:
    """Turns an `OSError` into a `StorageError` that says what was tried on which file."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be {action}.",
                           received=error.strerror or str(error)) from error


class NativeLock:
    """An `flock` on a file, held until released or until the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Lets the next one have it; a second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class NativeFiles:
    """The files under one folder.

    Example:
        >>> import tempfile
        >>> from tabgrad.platform import current
        >>> files = NativeFiles(Path(tempfile.mkdtemp()))
        >>> current().run_sync(files.write("runs/a/note", [b"one ", b"two"]))
        7
        >>> current().run_sync(files.read("runs/a/note"))
        b'one two'
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def _path(self, path: str) -> Path:
        return self._root.joinpath(*split_path(path))

    async def read(self, path: str) -> bytes:
        """All bytes of a file."""
        with storage_errors("read", path):
            return self._path(path).read_bytes()

    async def read_range(self, path: str, offset: int, size: int) -> bytes:
        """Exactly `size` bytes from `offset` on.

        Raises:
            StorageError: the file ends before, or cannot be read.
        """
        with storage_errors("read", path), self._path(path).open("rb") as file:
            file.seek(offset)
            data = file.read(size)
        if len(data) != size:
            raise ends_early(path, offset, size)
        return data

    async def size(self, path: str) -> int:
        """Length of a file in bytes."""
        with storage_errors("measured", path):
            return self._path(path).stat().st_size

    def local(self, path: str) -> Path:
        """Where a file lies on the disk."""
        return self._path(path)

    async def write(self, path: str, chunks: Iterable[BytesLike]) -> int:
        """Writes a file in pieces, makes its folders, flushes to the disk; bytes written."""
        target = self._path(path)
        written = 0
        with storage_errors("written", path):
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                for chunk in chunks:
                    written += file.write(as_bytes(chunk))
                file.flush()
                os.fsync(file.fileno())
        return written

    async def replace(self, source: str, target: str) -> None:
        """Moves a file over another in one step: a reader sees the old or the new one."""
        destination = self._path(target)
        with storage_errors("replaced", target):
            destination.parent.mkdir(parents=True, exist_ok=True)
            self._path(source).replace(destination)
            # The new name is durable only once its folder is flushed too.
            folder = os.open(destination.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    async def remove(self, path: str) -> None:
        """Removes a file, or a folder with all in it; missing is fine."""
        target = self._path(path)
        with storage_errors("removed", path):
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)

    async def list(self, path: str) -> list[Entry]:
        """What a folder holds, by name; a missing folder holds nothing."""
        folder = self._path(path)
        with storage_errors("listed", path):
            if not folder.exists():
                return []
            return [Entry(item.name, item.is_dir(), 0 if item.is_dir() else item.stat().st_size)
                    for item in sorted(folder.iterdir())]

    async def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        return self._path(path).exists()

    async def lock(self, name: str) -> NativeLock | None:
        """Makes this the only holder of `name` over all processes; None if another has it.

        Raises:
            StorageError: this system has no `flock`.
        """
        try:
            import fcntl
        except ImportError as error:
            raise StorageError("Runs cannot be locked here.", received="a system without flock",
                               expected="Linux or macOS") from error
        file = self._root / ".locks" / "--".join(split_path(name))
        with storage_errors("locked", name):
            file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return NativeLock(descriptor)

    async def usage(self) -> tuple[int, int | None]:
        """Bytes used here, and those plus what is free on the disk."""
        with storage_errors("measured", "The folder"):
            if not self._root.exists():
                return 0, None
            used = sum(item.stat().st_size for item in self._root.rglob("*") if item.is_file())
            return used, used + shutil.disk_usage(self._root).free
