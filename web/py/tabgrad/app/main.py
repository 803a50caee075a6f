"""Where the worker enters: `start` once, then `handle` for each message from the page.

The worker registers a JavaScript module `tabgrad_tab` before it imports this file:

    corpora()              JSON of the built-in texts, as the `Corpus` of protocol.json
    fetchText(sha256)      a promise of a Uint8Array
    models()               JSON of the built-in models, as `app.catalogue.Entry`
    persisted()            a promise of a boolean
    post(text, bytes)      sends a message to the page; bytes is a Uint8Array or null
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import tabgrad_tab
from pyodide.ffi import JsException, to_js

from tabgrad import platform
from tabgrad.app.application import Application
from tabgrad.app.catalogue import Entry
from tabgrad.app.commands import COMMANDS
from tabgrad.errors import DataError

_FOLDER = "tabgrad"
_running: set[asyncio.Task[None]] = set()
_application: Application | None = None


class TabHost:
    """The tab: texts come from our own origin, and the browser decides whether files stay."""

    def corpora(self) -> list[dict[str, Any]]:
        """Descriptions of the built-in texts."""
        described: list[dict[str, Any]] = json.loads(tabgrad_tab.corpora())
        return described

    async def fetch(self, sha256: str) -> bytes:
        """The bytes of a built-in text."""
        try:
            array = await tabgrad_tab.fetchText(sha256)
        except JsException as error:
            raise DataError("The text could not be fetched.", received=str(error.message),
                            remedy="Check the connection and try again.",
                            control="corpus") from error
        data: bytes = array.to_bytes()
        return data

    def models(self) -> list[Entry]:
        """Models that lie beside the page."""
        return [Entry(**row) for row in json.loads(tabgrad_tab.models())]

    async def persistent(self) -> bool:
        """Whether the browser keeps the files until the user deletes them."""
        return bool(await tabgrad_tab.persisted())


def start() -> None:
    """Makes the application; messages can come from now on."""
    global _application
    _application = Application(platform.current().files(_FOLDER), TabHost(), _post, COMMANDS)


def handle(message: str, data: Any = None, files: Any = None) -> None:
    """Takes a message; the answer is posted. Several may be under way at once.

    Args:
        message: JSON.
        data: the Uint8Array of its bytes field, if it has one.
        files: the File objects of its files field, if it has one.
    """
    assert _application is not None, "start() comes first"
    content = None if data is None else data.to_bytes()
    dropped = {str(file.name): file for file in files or ()}
    task = asyncio.ensure_future(_application.handle(message, content, dropped))
    _running.add(task)
    task.add_done_callback(_running.discard)


def _post(message: str, data: bytes | None) -> None:
    tabgrad_tab.post(message, None if data is None else to_js(data))
