"""CPython: WebGPU through wgpu-py (wgpu-native, naga), files in a folder, asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tabgrad.errors import NoAdapter, TabgradError
from tabgrad.platform import native_transfer
from tabgrad.platform.files_protocol import Files
from tabgrad.platform.gpu_protocol import Gpu
from tabgrad.platform.native_files import NativeFiles
from tabgrad.platform.native_text import NativeTemplate, NativeTokenizer
from tabgrad.platform.protocol import PlatformTemplate, PlatformTokenizer
from tabgrad.platform.transfer import Cancel, Downloaded, Progress, Start

Result = TypeVar("Result")


class NativePlatform:
    """The seam on CPython. No coroutine of its GPU ever suspends: they block and return."""

    name = "native"

    async def open_gpu(self) -> Gpu:
        """A device of the fastest adapter.

        Raises:
            NoAdapter: wgpu is not installed, or finds no adapter.
        """
        try:
            from tabgrad.platform.native_gpu import open_native_gpu
        except ImportError as error:
            raise NoAdapter("WebGPU needs the package wgpu.", received=str(error),
                            remedy="pip install wgpu, or use the device numpy.") from error
        return open_native_gpu()

    def files(self, root: str) -> Files:
        """The folder `root` of the disk; made when something is written."""
        return NativeFiles(Path(root))

    async def download(self, files: Files, url: str, path: str, *, size: int | None = None,
                       sha256: str | None = None, progress: Progress | None = None,
                       cancel: Cancel | None = None,
                       headers: Mapping[str, str] | None = None) -> Downloaded:
        """Downloads a file; see `Platform.download`."""
        return await native_transfer.download(files, url, path, size=size, sha256=sha256,
                                         progress=progress, cancel=cancel, headers=headers)

    async def adopt(self, files: Files, source: Any, path: str, *,
                    progress: Progress | None = None, cancel: Cancel | None = None) -> Downloaded:
        """Copies a file of the computer; see `Platform.adopt`."""
        return await native_transfer.adopt(files, source, path, progress=progress, cancel=cancel)

    async def fetch_small(self, url: str, limit: int,
                          headers: Mapping[str, str] | None = None) -> bytes:
        """All bytes of a small file; see `Platform.fetch_small`."""
        return await native_transfer.fetch_small(url, limit, headers)

    async def fetch_start(self, url: str, length: int,
                          headers: Mapping[str, str] | None = None) -> Start:
        """The first bytes of a file, and its size; see `Platform.fetch_start`."""
        return await native_transfer.fetch_start(url, length, headers)

    async def tokenizer(self, data: bytes) -> PlatformTokenizer:
        """Reads a tokenizer.json; see `Platform.tokenizer`."""
        return NativeTokenizer(data)

    async def chat_template(self, source: str) -> PlatformTemplate:
        """Reads a Jinja template; see `Platform.chat_template`."""
        return NativeTemplate(source)

    async def pause(self) -> None:
        """Lets the event loop run what waits."""
        await asyncio.sleep(0)

    def now_ms(self) -> float:
        """A clock that never goes back, in milliseconds."""
        return time.perf_counter() * 1e3

    def run_sync(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Runs a coroutine to its end, also inside a running event loop.

        Raises:
            TabgradError: the coroutine waits for something other than the GPU or `pause`.

        Example:
            >>> async def answer() -> int:
            ...     return 42
            >>> NativePlatform().run_sync(answer())
            42
        """
        while True:
            try:
                waits_for = coroutine.send(None)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            # A bare yield is asyncio.sleep(0): nothing to wait for.
            if waits_for is not None:
                coroutine.close()
                raise TabgradError("This coroutine waits for the event loop.",
                                   received=repr(waits_for), remedy="Await it instead.")
