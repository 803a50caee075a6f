"""The seam: what the browser and CPython both give to everything above."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from tabgrad.platform.files_protocol import Files
from tabgrad.platform.gpu_protocol import Gpu
from tabgrad.platform.transfer import Cancel, Downloaded, Progress, Start

Result = TypeVar("Result")


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
