"""A file on its way: `<path>.part` with what has come, `<path>.part.journal` with which pieces.

The same as `web/hub/part_file.js`, on the disk.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tabgrad.platform.native_http import LIMITS, Failure


@dataclass(frozen=True)
class Identity:
    """Which file this is, as the first line of the journal says it."""

    url: str
    size: int
    validator: str | None
    sha256: str | None
    chunk: int


class PartFile:
    """The bytes that are kept, so that a download can go on after the process was killed.

    The journal grows only: one line of JSON, then one line for each piece that is on the disk.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._path = target.with_name(target.name + ".part")
        self._journal_path = target.with_name(target.name + ".part.journal")
        self.identity: Identity | None = None
        self.done: set[int] = set()
        self._lock = threading.Lock()
        target.parent.mkdir(parents=True, exist_ok=True)
        self._path.touch()
        self._file = self._path.open("r+b")
        self._journal = self._journal_path.open("a+b")
        self._read()

    def _read(self) -> None:
        self._journal.seek(0)
        first, *lines = self._journal.read().split(b"\n")[:-1] or [b""]
        try:
            identity = Identity(**json.loads(first))
        except (ValueError, TypeError):
            return
        if identity.chunk != LIMITS.chunk_bytes or self._path.stat().st_size != identity.size:
            return
        self.identity = identity
        self.done = {int(line) for line in lines if line.isdigit() and int(line) < self.count}

    @property
    def size(self) -> int:
        """Length of the whole file; 0 while it is not known."""
        return 0 if self.identity is None else self.identity.size

    @property
    def count(self) -> int:
        """How many pieces."""
        return -(-self.size // LIMITS.chunk_bytes)

    def span(self, index: int) -> tuple[int, int]:
        """First byte of a piece, and the one behind its last."""
        return index * LIMITS.chunk_bytes, min((index + 1) * LIMITS.chunk_bytes, self.size)

    @property
    def missing(self) -> list[int]:
        """Pieces that are not here yet, in order."""
        return [index for index in range(self.count) if index not in self.done]

    @property
    def here(self) -> int:
        """Bytes of the pieces that are here."""
        return sum(stop - start for start, stop in map(self.span, self.done))

    def begin(self, identity: Identity) -> None:
        """Begins anew: nothing of the file is here."""
        self.identity = identity
        self.done.clear()
        with room(identity.size):
            self._journal.truncate(0)
            self._file.truncate(0)
            self._file.truncate(identity.size)
            self._append(json.dumps(asdict(identity)))

    def write(self, data: bytes, at: int) -> None:
        """Writes a piece of a piece."""
        with self._lock, room(len(data)):
            self._file.seek(at)
            self._file.write(data)

    def finished(self, index: int) -> None:
        """A piece has come. On the disk first, then in the journal."""
        with self._lock, room(0):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._append(str(index))
            self.done.add(index)

    def _append(self, line: str) -> None:
        self._journal.write(line.encode() + b"\n")
        self._journal.flush()
        os.fsync(self._journal.fileno())

    def read(self) -> Iterator[bytes]:
        """All bytes, in pieces."""
        self._file.seek(0)
        while piece := self._file.read(2**20):
            yield piece

    def close(self) -> None:
        """Lets the files go."""
        self._file.close()
        self._journal.close()

    def discard(self) -> None:
        """Forgets all that has come. Call it after `close`."""
        self._path.unlink(missing_ok=True)
        self._journal_path.unlink(missing_ok=True)

    def move_into_place(self) -> None:
        """The file is whole: it takes its own name. Call it after `close`."""
        self._path.replace(self._target)
        self._journal_path.unlink(missing_ok=True)


@contextmanager
def room(size: int) -> Iterator[None]:
    """Turns a full disk into a failure of that kind."""
    try:
        yield
    except OSError as error:
        raise Failure("Quota", expected=f"{size} more bytes" if size else None,
                      received=error.strerror or str(error)) from error
