"""A plain static host for the built site: a folder deep in an address, and not one header of ours.

What a visitor of any free host gets. `tools.server` is the careful one that developers use.
"""

from __future__ import annotations

import http.server
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tools.loopback import Loopback
from tools.server import TYPES

UNDER = "/some/where/"  # the site must not think that it owns the origin


class Host(Loopback):
    """Serves a folder at `url`, on the loopback address, until the block ends.

    Args:
        folder: what lies at `url`.
        under: the path of `url`.

    Example:
        with Host(site) as host:
            page.goto(host.url)
    """

    def __init__(self, folder: Path, under: str = UNDER) -> None:
        super().__init__(_Handler, {"root": folder, "under": under})
        self.url = self.origin + under


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
