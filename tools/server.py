"""A local server for dist/: right MIME types, the strict policy as a header, one thread a request.

The site needs none of this: it is what a careful static host would send.
"""

from __future__ import annotations

import http.server
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools import policy
from tools.loopback import Loopback
from tools.page import policy_of
from tools.shell import DIST, BuildError

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".wgsl": "text/plain; charset=utf-8",
    ".whl": "application/zip",
    ".zip": "application/zip",
}
_HASHED = re.compile(r"^/[^/]+-[0-9a-f]{12}/")


class Server(Loopback):
    """Serves a folder on this machine's loopback address, in the background.

    Args:
        site: the built site.
        port: 0 takes any free one.
        refresh: called before the page is served, so that a developer sees the last edit.

    Example:
        with Server(site) as server:
            open_browser(server.url)
    """

    def __init__(self, site: Path = DIST, port: int = 0,
                 refresh: Callable[[], object] | None = None) -> None:
        facts = {"site": site, "refresh": staticmethod(refresh or (lambda: None))}
        try:
            super().__init__(_Handler, facts, port)
        except OSError as error:
            raise BuildError(f"Port {port} cannot be used ({error.strerror}). "
                             f"Choose another with --port, or 0 for any free one.") from error
        self.url = f"{self.origin}/"


class _Handler(http.server.SimpleHTTPRequestHandler):
    site: Path
    refresh: Callable[[], object]
    protocol_version = "HTTP/1.1"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, directory=str(self.site), **kwargs)

    def do_GET(self) -> None:
        if self._path() in ("/", "/index.html"):
            type(self).refresh()
        super().do_GET()

    def guess_type(self, path: Any) -> str:
        return TYPES.get(Path(path).suffix, "application/octet-stream")

    def list_directory(self, path: Any) -> None:
        self.send_error(404)

    def end_headers(self) -> None:
        path = self._path()
        if path.endswith(("/", ".html")):
            self.send_header("Content-Security-Policy",
                             policy_of((self.site / "index.html").read_text()))
        elif path.endswith((".js", ".mjs")):
            self.send_header("Content-Security-Policy", policy.WORKER)
        fresh = "public, max-age=31536000, immutable" if _HASHED.match(path) else "no-cache"
        self.send_header("Cache-Control", fresh)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        super().end_headers()

    def _path(self) -> str:
        return self.path.split("?")[0].split("#")[0]

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: a served page is no news. Errors of the site show in the browser."""
