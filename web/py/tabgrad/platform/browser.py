"""The tab: WebGPU, OPFS and the event loop, through `web/seam.js` in the worker."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from pyodide.ffi import can_run_sync, run_sync

from tabgrad.errors import TabgradError
from tabgrad.platform import browser_transfer
from tabgrad.platform.browser_files import BrowserFiles
from tabgrad.platform.browser_gpu import open_browser_gpu
from tabgrad.platform.browser_seam import seam
from tabgrad.platform.browser_text import BrowserTemplate, BrowserTokenizer
from tabgrad.platform.files_protocol import Files
from tabgrad.platform.gpu_protocol import Gpu
from tabgrad.platform.protocol import PlatformTemplate, PlatformTokenizer
from tabgrad.platform.transfer import Cancel, Downloaded, Progress, Start

Result = TypeVar("Result")


class BrowserPlatform:
    """The seam in a Web Worker under Pyodide."""

    name = "browser"

    async def open_gpu(self) -> Gpu:
        """A device of the browser's fastest adapter. Raises `NoAdapter`."""
        return await open_browser_gpu()

    def files(self, root: str) -> Files:
        """A folder of the origin private file system."""
        return BrowserFiles(root)

    async def download(self, files: Files, url: str, path: str, *, size: int | None = None,
                       sha256: str | None = None, progress: Progress | None = None,
                       cancel: Cancel | None = None,
                       headers: Mapping[str, str] | None = None) -> Downloaded:
        """Downloads a file; see `Platform.download`."""
        return await browser_transfer.download(files, url, path, size=size, sha256=sha256,
                                          progress=progress, cancel=cancel, headers=headers)

    async def adopt(self, files: Files, source: Any, path: str, *,
                    progress: Progress | None = None, cancel: Cancel | None = None) -> Downloaded:
        """Copies a file of the computer; see `Platform.adopt`."""
        return await browser_transfer.adopt(files, source, path, progress=progress, cancel=cancel)

    async def fetch_small(self, url: str, limit: int,
                          headers: Mapping[str, str] | None = None) -> bytes:
        """All bytes of a small file; see `Platform.fetch_small`."""
        return await browser_transfer.fetch_small(url, limit, headers)

    async def fetch_start(self, url: str, length: int,
                          headers: Mapping[str, str] | None = None) -> Start:
        """The first bytes of a file, and its size; see `Platform.fetch_start`."""
        return await browser_transfer.fetch_start(url, length, headers)

    async def tokenizer(self, data: bytes) -> PlatformTokenizer:
        """Reads a tokenizer.json; see `Platform.tokenizer`."""
        return await BrowserTokenizer.open(data)

    async def chat_template(self, source: str) -> PlatformTemplate:
        """Reads a Jinja template; see `Platform.chat_template`."""
        return await BrowserTemplate.open(source)

    async def pause(self) -> None:
        """Lets the event loop run what waits; as quick in a hidden tab."""
        await (await seam()).tick()

    def now_ms(self) -> float:
        """A clock that never goes back, in milliseconds."""
        return time.perf_counter() * 1e3

    def run_sync(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Waits for a coroutine where the browser can pause Python (JSPI).

        Raises:
            TabgradError: this browser cannot, or Python was not entered asynchronously.
        """
        if not can_run_sync():
            coroutine.close()
            raise TabgradError("This browser cannot wait inside Python code.",
                               remedy="Use await: for a tensor, `await t.read()`.")
        return run_sync(coroutine)
