"""A host that misbehaves on demand: what downloads meet outside, served on the loopback address.

Contents are bytes, or made as they are asked for, so that a model of any size needs no memory.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import numpy as np

from tools.loopback import Loopback

PIECE = 2**18
HTML = b"<!DOCTYPE html><html><head><title>Not found</title></head><body>No.</body></html>"


@dataclass
class Fault:
    """How a file is served wrongly.

    Args:
        times: how many requests of it; -1 for all.
        skip: requests that are served rightly before.
        status: answered in place of the file.
        retry_after: seconds, beside a status.
        html: a web page with status 200 in place of the file; "type" names it as one, "silent"
            calls it bytes.
        ranges: False answers every request with the whole file.
        cors: False sends no Access-Control-Allow-Origin.
        exposed: False does not let a page see Content-Range and ETag.
        redirect: where to send the client instead.
        cut: body bytes after which the connection breaks.
        short: bytes at the end that are not sent, in a well-formed answer.
        longer: bytes that come beyond what was asked.
        claim: the length of the whole file that is claimed, if another.
        etag: another one than the content's.
        no_etag: sends none, nor a date.
        flip: byte of the file that is another one.
        piece_s: seconds to wait before each piece of 256 KiB.
    """

    times: int = -1
    skip: int = 0
    status: int | None = None
    retry_after: int | None = None
    html: str = ""
    ranges: bool = True
    cors: bool = True
    exposed: bool = True
    redirect: str | None = None
    cut: int | None = None
    short: int = 0
    longer: int = 0
    claim: int | None = None
    etag: str | None = None
    no_etag: bool = False
    flip: int | None = None
    piece_s: float = 0.0

    def strikes(self) -> bool:
        """Whether this request is served wrongly; counts it."""
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times == 0:
            return False
        self.times -= self.times > 0
        return True


class Generated:
    """Bytes that are made as they are asked for: after `head`, blocks of noise with their number.

    Args:
        head: the first bytes.
        size: length of all.
    """

    _NOISE = np.random.default_rng(7).bytes(PIECE)

    def __init__(self, head: bytes, size: int) -> None:
        self.head = head
        self.size = size
        digest = hashlib.sha256()
        for piece in self.pieces(0, size):
            digest.update(piece)
        self.sha256 = digest.hexdigest()

    def pieces(self, start: int, stop: int) -> Iterator[bytes]:
        """The bytes [start, stop)."""
        if start < len(self.head):
            yield self.head[start:stop]
        at = max(start, len(self.head))
        while at < stop:
            block, inside = divmod(at - len(self.head), PIECE)
            piece = block.to_bytes(8, "little") + self._NOISE[8:]
            yield piece[inside:inside + stop - at]
            at += min(PIECE - inside, stop - at)


@dataclass(frozen=True)
class Asked:
    """A request that came."""

    method: str
    path: str
    span: tuple[int, int] | None
    headers: dict[str, str] = field(compare=False)


def sharded(tensors: dict[str, np.ndarray[Any, Any]]) -> bytes:
    """A safetensors file of float32 arrays, not written by the code that the tests are about."""
    table, offset = {}, 0
    for name, array in tensors.items():
        table[name] = {"dtype": "F32", "shape": list(array.shape),
                       "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    header = json.dumps(table).encode()
    return (len(header).to_bytes(8, "little") + header
            + b"".join(array.astype("<f4").tobytes() for array in tensors.values()))


class FaultyHost(Loopback):
    """Serves `files` (path without "/" in front -> content) until the block ends.

    Attributes:
        url: of the root, with "/" at its end.
        files: what is served; may change meanwhile.
        faults: path -> Fault.
        asked: every request that came, in order.
        token: every file but to whoever sends it is refused; None where there is none.

    Example:
        with FaultyHost({"m/config.json": b"{}"}) as host:
            host.faults["m/config.json"] = Fault(status=503, times=1)
    """

    def __init__(self, files: dict[str, bytes | Generated]) -> None:
        self.files = files
        self.faults: dict[str, Fault] = {}
        self.asked: list[Asked] = []
        self.token: str | None = None
        self.lock = threading.Lock()
        super().__init__(_Handler, {"host": self}, server=_Server)
        self.url = f"{self.origin}/"

    def gets(self, path: str) -> list[Asked]:
        """The GET requests of a file so far."""
        with self.lock:
            return [each for each in self.asked if each.method == "GET" and each.path == path]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news; anything else is a fault of this host."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    host: FaultyHost
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(True)

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_OPTIONS(self) -> None:
        path = unquote(self.path.split("?")[0]).lstrip("/")
        fault = self.host.faults.get(path, Fault())
        with self.host.lock:
            self.host.asked.append(Asked(self.command, path, None, dict(self.headers)))
        self.send_response(204)
        if fault.cors:
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Access-Control-Allow-Headers", "authorization, range")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self, with_body: bool) -> None:
        path = unquote(self.path.split("?")[0]).lstrip("/")
        span = self._span()
        with self.host.lock:
            self.host.asked.append(Asked(self.command, path, span, dict(self.headers)))
            fault = self.host.faults.get(path, Fault())
            fault = fault if fault.strikes() else Fault()
        self._fault = fault
        if self.host.token not in (None, self._token()):
            self._empty(401, {})
        elif fault.redirect is not None:
            self._empty(302, {"Location": fault.redirect})
        elif fault.status is not None:
            wait = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
            self._empty(fault.status, wait)
        elif fault.html:
            kind = "text/html" if fault.html == "type" else "application/octet-stream"
            self._send(200, [HTML], len(HTML), {"Content-Type": kind}, with_body)
        elif path not in self.host.files:
            self._empty(404, {})
        else:
            self._file(self.host.files[path], span if fault.ranges else None, with_body)

    def _span(self) -> tuple[int, int] | None:
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        return None if found is None else (int(found[1]), int(found[2]) + 1)

    def _token(self) -> str:
        return str(self.headers.get("Authorization", "")).removeprefix("Bearer ")

    def _file(self, content: bytes | Generated, span: tuple[int, int] | None,
              with_body: bool) -> None:
        fault = self._fault
        whole = len(content) if isinstance(content, bytes) else content.size
        claim = whole if fault.claim is None else fault.claim
        start, stop = (0, whole) if span is None else (span[0], min(span[1], whole))
        headers = {} if fault.no_etag else {"ETag": fault.etag or self._etag(content)}
        if span is not None and start >= whole:
            self._empty(416, {"Content-Range": f"bytes */{claim}"})
            return
        if span is not None:
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{claim}"
        length = stop - start - fault.short + fault.longer
        if span is None and fault.claim is not None:
            length = claim
        pieces = self._pieces(content, start, stop - fault.short)
        if fault.longer:
            pieces = iter([*pieces, bytes(fault.longer)])
        self._send(200 if span is None else 206, pieces, length, headers, with_body)

    def _etag(self, content: bytes | Generated) -> str:
        digest = (hashlib.sha256(content).hexdigest() if isinstance(content, bytes)
                  else content.sha256)
        return f'"{digest[:16]}"'

    def _pieces(self, content: bytes | Generated, start: int, stop: int) -> Iterator[bytes]:
        if isinstance(content, Generated):
            yield from content.pieces(start, stop)
            return
        flip = self._fault.flip
        if flip is not None:
            content = content[:flip] + bytes([content[flip] ^ 1]) + content[flip + 1:]
        for at in range(start, stop, PIECE):
            yield content[at:min(at + PIECE, stop)]

    def _empty(self, status: int, headers: dict[str, str]) -> None:
        self._send(status, [], 0, headers, True)

    def _send(self, status: int, pieces: Any, length: int, headers: dict[str, str],
              with_body: bool) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/octet-stream", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        if self._fault.cors:
            self.send_header("Access-Control-Allow-Origin", "*")
        if self._fault.exposed:
            self.send_header("Access-Control-Expose-Headers", "ETag, Content-Range")
        self.end_headers()
        sent = 0
        for piece in pieces if with_body else ():
            time.sleep(self._fault.piece_s)
            cut = self._fault.cut
            if cut is not None and sent + len(piece) > cut:
                self.wfile.write(piece[:cut - sent])
                self.close_connection = True
                return
            try:
                self.wfile.write(piece)
            except OSError:  # the client has had enough
                self.close_connection = True
                return
            sent += len(piece)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the tests look at `asked`."""
