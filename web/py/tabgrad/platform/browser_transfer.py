"""Files from hosts in the tab, through `web/hub/`: their bytes go from the network to OPFS."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pyodide.ffi import JsException, create_proxy

from tabgrad.errors import TabgradError
from tabgrad.platform.browser_files import (
    STORAGE_NAMES,
    BrowserFiles,
    checked,
    storage_error,
)
from tabgrad.platform.browser_seam import seam
from tabgrad.platform.files_protocol import Files
from tabgrad.platform.transfer import (
    Cancel,
    Downloaded,
    Progress,
    Start,
    check_address,
    check_headers,
    transfer_error,
)


@asynccontextmanager
async def transfer(what: str, cancel: Cancel | None, progress: Progress | None = None
                   ) -> AsyncIterator[tuple[Any, Any]]:
    """The AbortSignal and the progress callback for JavaScript; its failures become our errors."""
    controller = (await seam()).newAbort()
    forget = None if cancel is None else cancel.listen(controller.abort)
    listener = None if progress is None else create_proxy(progress)
    try:
        yield controller.signal, listener
    except asyncio.CancelledError:
        controller.abort()
        raise
    except JsException as error:
        raise to_python(what, error) from error
    finally:
        if forget is not None:
            forget()
        if listener is not None:
            listener.destroy()


def to_python(what: str, error: Any) -> TabgradError:
    """The error that `web/hub/failure.js` meant."""
    if hasattr(error, "again"):
        return transfer_error(str(error.name), what, error.expected or None,
                              error.received or None)
    if error.name == "AbortError":
        return transfer_error("Cancelled", what)
    if error.name in STORAGE_NAMES:
        return storage_error("written", what, error)
    return transfer_error("Network", what, received=f"{error.name}: {error.message}")


async def download(files: Files, url: str, path: str, *, size: int | None, sha256: str | None,
                   progress: Progress | None, cancel: Cancel | None,
                   headers: Mapping[str, str] | None) -> Downloaded:
    """See `Platform.download`."""
    assert isinstance(files, BrowserFiles)
    wanted = {"url": check_address(url), "path": checked(path), "size": size, "sha256": sha256,
              "headers": check_headers(headers)}
    opened = await files.opened()
    async with transfer(url, cancel, progress) as (signal, listener):
        text = await (await seam()).download(opened, json.dumps(wanted), listener, signal)
    return Downloaded(**json.loads(text))


async def adopt(files: Files, source: Any, path: str, *, progress: Progress | None,
                cancel: Cancel | None) -> Downloaded:
    """See `Platform.adopt`; `source` is a File of JavaScript."""
    assert isinstance(files, BrowserFiles)
    opened = await files.opened()
    async with transfer(path, cancel, progress) as (signal, listener):
        text = await (await seam()).adoptFile(opened, source, checked(path), listener, signal)
    return Downloaded(**json.loads(text))


async def fetch_small(url: str, limit: int, headers: Mapping[str, str] | None) -> bytes:
    """See `Platform.fetch_small`."""
    sent = json.dumps(check_headers(headers))
    async with transfer(check_address(url), None) as (signal, _):
        data = await (await seam()).fetchSmall(url, limit, sent, signal)
        return bytes(data.to_bytes())


async def fetch_start(url: str, length: int, headers: Mapping[str, str] | None) -> Start:
    """See `Platform.fetch_start`."""
    sent = json.dumps(check_headers(headers))
    async with transfer(check_address(url), None) as (signal, _):
        start = await (await seam()).fetchStart(url, length, sent, signal)
        return Start(bytes(start.data.to_bytes()),
                     None if start.size is None else int(start.size), start.etag)
