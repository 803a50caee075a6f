"""A model's folder as a host offers it: byte ranges, and any page may read it."""

from __future__ import annotations

import http.server
import re
from pathlib import Path
from typing import Any, BinaryIO

from tools.loopback import Loopback

PIECE_BYTES = 2**20
_RANGE = re.compile(r"^bytes=(\d+)-(\d*)$")


class FolderServer(Loopback):
    """Serves the plain files of one folder on this machine's loopback address.

    Args:
        folder: what is served; nothing below it, nothing beside it.

    Example:
        with FolderServer(folder) as server:
            download(server.url + "config.json")
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(_Handler, {"folder": folder.resolve()})
        self.url = f"{self.origin}/{folder.resolve().name}/"


class _Handler(http.server.BaseHTTPRequestHandler):
    folder: Path
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_OPTIONS(self) -> None:
        self.send_response(204)
        self.send_header("Access-Control-Allow-Headers", "*")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self, body: bool) -> None:
        path = self.folder / self.path.split("?")[0].rsplit("/", 1)[-1]
        if not path.is_file():
            self.send_error(404)
            return
        size = path.stat().st_size
        asked = _RANGE.match(self.headers.get("Range", ""))
        first = int(asked[1]) if asked else 0
        last = min(int(asked[2]) if asked and asked[2] else size - 1, size - 1)
        if asked and first > last:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{size}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("ETag", f'"{path.stat().st_mtime_ns:x}-{size:x}"')
        self.end_headers()
        if body:
            with path.open("rb") as file:
                file.seek(first)
                _copy(file, self.wfile, last - first + 1)

    def end_headers(self) -> None:
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Expose-Headers",
                         "Accept-Ranges, Content-Length, Content-Range, ETag")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: what is asked for is no news."""


def _copy(source: BinaryIO, target: Any, count: int) -> None:
    while count > 0:
        piece = source.read(min(count, PIECE_BYTES))
        if not piece:
            return
        target.write(piece)
        count -= len(piece)
