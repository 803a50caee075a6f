"""The seam: what the browser and CPython both give to everything above."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tabgrad.errors import StorageError
from tabgrad.platform.gpu_protocol import BytesLike, Gpu
from tabgrad.platform.transfer import Cancel, Downloaded, Progress, Start

Result = TypeVar("Result")


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


class PlatformTokenizer(Protocol):
    """A tokenizer.json that can be used."""

    @property
    def vocab_size(self) -> int:
        """Entries, special tokens included."""

    @property
    def decoder(self) -> Mapping[str, Any] | None:
        """How tokens become text, as the file describes it; `text/decoding.py` does it."""

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of the tokens that are no text."""

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        """Ids of a text."""

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None where there is none."""

    def id_to_token(self, identity: int) -> str | None:
        """The token of an id, as the vocabulary writes it; None where there is none."""


class PlatformTemplate(Protocol):
    """A chat template that can be used."""

    def render(self, variables: Mapping[str, Any]) -> str:
        """The text for these variables. Raises `CheckpointError` where it refuses them."""


class Platform(Protocol):
    """The place we run in."""

    name: str

    async def open_gpu(self) -> Gpu:
        """A new WebGPU device. Raises `NoAdapter`."""

    def files(self, root: str) -> Files:
        """A folder of OPFS in the tab, of the disk natively."""

    async def download(self, files: Files, url: str, path: str, *, size: int | None = None,
                       sha256: str | None = None, progress: Progress | None = None,
                       cancel: Cancel | None = None,
                       headers: Mapping[str, str] | None = None) -> Downloaded:
        """Downloads a file by concurrent ranges of 16 MiB, into `<path>.part` first.

        A download that was cut off goes on when the same file is asked for again: the SHA-256
        is the same, or else the address and the host's ETag. Nothing is at `path` before the
        length and the SHA-256 are right.

        Args:
            files: where it goes.
            url: https, or http of this computer.
            path: of the file.
            size: its length in bytes, if known.
            sha256: of its bytes in hexadecimal, if known.
            progress: called with (bytes, of bytes).
            cancel: stops it.
            headers: sent along, and never stored: an access token.

        Raises:
            DownloadError: `kind` says what the host did.
            StorageError: no room, or the file cannot be written.
            Cancelled: as asked; what has come is kept, so that it can go on.
        """

    async def adopt(self, files: Files, source: Any, path: str, *,
                    progress: Progress | None = None, cancel: Cancel | None = None) -> Downloaded:
        """Copies a file of the computer: a path natively, a dropped `File` in the tab.

        Raises:
            StorageError: no room, or a file cannot be read or written.
            Cancelled: as asked.
        """

    async def fetch_small(self, url: str, limit: int,
                          headers: Mapping[str, str] | None = None) -> bytes:
        """All bytes of a small file. Raises `DownloadError`, also when it has more than `limit`."""

    async def fetch_start(self, url: str, length: int,
                          headers: Mapping[str, str] | None = None) -> Start:
        """The first `length` bytes of a file, and its size. Raises `DownloadError`."""

    async def tokenizer(self, data: bytes) -> PlatformTokenizer:
        """Reads a tokenizer.json. Raises `CheckpointError`."""

    async def chat_template(self, source: str) -> PlatformTemplate:
        """Reads a Jinja template. Raises `CheckpointError`."""

    async def pause(self) -> None:
        """Lets the event loop run what waits."""

    def now_ms(self) -> float:
        """A clock that never goes back, in milliseconds."""

    def run_sync(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Runs a coroutine to its end from code that cannot await."""


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
