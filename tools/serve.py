"""`build.py serve`: build, serve, and build again when the page is reloaded after an edit."""

from __future__ import annotations

import threading

from tools import site
from tools.server import Server
from tools.shell import ROOT, WEB, BuildError, say

DEFAULT_PORT = 8000


def serve(port: int | None) -> None:
    """Serves until Ctrl+C.

    Args:
        port: the one to use; None tries 8000 and takes any free one when that is in use.
    """
    folder = site.build()
    rebuild = _Rebuild()
    try:
        server = Server(folder, DEFAULT_PORT if port is None else port, rebuild)
    except BuildError:
        if port is not None:
            raise
        server = Server(folder, 0, rebuild)
    with server:
        print(f"tabgrad is at {server.url}  (Ctrl+C stops it)", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            say("")


class _Rebuild:
    """Builds again when a source changed. A broken edit is told, not served."""

    def __init__(self) -> None:
        self.seen = self._sources()
        self.lock = threading.Lock()

    def __call__(self) -> None:
        with self.lock:
            now = self._sources()
            if now == self.seen:
                return
            try:
                site.build()
            except BuildError as error:
                say(f"Not built, the page is the one before: {error}")
            self.seen = now

    @staticmethod
    def _sources() -> dict[str, int]:
        paths = [ROOT / "pyproject.toml", *WEB.rglob("*")]
        return {str(path): path.stat().st_mtime_ns for path in paths
                if path.is_file() and "__pycache__" not in path.parts}
