"""A plain static host for the built site: a folder deep in an address, and not one header of ours.

What a visitor of any free host gets. `tools.server` is the careful one that developers use.
"""

from __future__ import annotations

import http.server
import threading
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tools.server import TYPES

UNDER = "/some/where/"  # the site must not think that it owns the origin


class Host:
    """Serves a folder at `url`, on the loopback address, until the block ends.

    Args:
        folder: what lies at `url`.
        under: the path of `url`.

    Example:
        with Host(site) as host:
            page.goto(host.url)
    """

    def __init__(self, folder: Path, under: str = UNDER) -> None:
        handler = type("Handler", (_Handler,), {"root": folder, "under": under})
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self.origin = f"http://127.0.0.1:{self._http.server_port}"
        self.url = self.origin + under

    def __enter__(self) -> Host:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(http.server.SimpleHTTPRequestHandler):
    root: Path
    under: str
    protocol_version = "HTTP/1.1"

    def translate_path(self, path: str) -> str:
        asked = unquote(urlsplit(path).path)
        if not asked.startswith(self.under):
            return str(self.root / "no such file")
        found = (self.root / asked.removeprefix(self.under)).resolve()
        inside = found.is_relative_to(self.root.resolve())
        return str(found if inside else self.root / "no such file")

    def guess_type(self, path: Any) -> str:
        return TYPES.get(Path(path).suffix, "application/octet-stream")

    def log_message(self, format: str, *args: Any) -> None:
        """A request is no news; what goes wrong shows in the browser."""
