"""One request to a host from CPython: what its answer means, when to ask again."""

from __future__ import annotations

import http.client
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tabgrad.platform.transfer import check_address

Result = TypeVar("Result")

TRIES = 5
"""Tries in a row that brought no byte."""
LONGEST_WAIT_S = 30.0
PIECE_BYTES = 2**18
_PASSING = (408, 425, 429)


@dataclass
class Limits:
    """What a test may shorten: bytes of a range, seconds before a retry and of silence."""

    chunk_bytes: int = 16 * 2**20
    retry_s: float = 0.4
    stall_s: float = 30.0


LIMITS = Limits()


class Failure(Exception):
    """Something that went wrong, as `transfer.transfer_error` names it.

    Args:
        kind: of `transfer_error`.
        again: whether trying once more may help.
        after_s: not before so many seconds.
    """

    def __init__(self, kind: str, *, expected: str | None = None, received: str | None = None,
                 again: bool = False, after_s: float | None = None) -> None:
        super().__init__(kind)
        self.kind, self.expected, self.received = kind, expected, received
        self.again, self.after_s = again, after_s


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows only to addresses that are allowed, and takes no access token to another origin."""

    def redirect_request(self, req: urllib.request.Request, fp: Any, code: int, msg: str,
                         headers: Any, newurl: str) -> urllib.request.Request | None:
        request = super().redirect_request(req, fp, code, msg, headers, check_address(newurl))
        if request is not None and urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            request.remove_header("Authorization")
        return request


_OPENER = urllib.request.build_opener(_Redirects)


def ask(url: str, headers: Mapping[str, str], span: tuple[int, int] | None,
        method: str = "GET") -> Any:
    """The answer for a file, or for its bytes [start, end): 200, 206 or 416, and no web page."""
    request = urllib.request.Request(check_address(url), method=method, headers={
        "Accept-Encoding": "identity", "User-Agent": "tabgrad", **headers})
    if span is not None:
        request.add_header("Range", f"bytes={span[0]}-{span[1] - 1}")
    try:
        response = _OPENER.open(request, timeout=LIMITS.stall_s)
    except urllib.error.HTTPError as error:
        if error.code == 416 and span is not None:
            return error
        raise _status(error) from error
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        raise Failure("Network", received=str(reason), again=True) from error
    kind = response.headers.get("Content-Type", "")
    if re.match("text/html|application/xhtml", kind, re.IGNORECASE):
        response.close()
        raise Failure("WebPage", received=kind)
    return response


def _status(error: urllib.error.HTTPError) -> Failure:
    received = f"HTTP {error.code}"
    if error.code in (404, 410):
        return Failure("NotFound", received=received)
    if error.code in (401, 403):
        return Failure("Forbidden", received=received)
    seconds = error.headers.get("Retry-After", "")
    return Failure("Status", received=received, again=error.code in _PASSING or error.code >= 500,
                   after_s=min(float(seconds), LONGEST_WAIT_S) if seconds.isdigit() else None)


def pieces(response: Any, stop: threading.Event) -> Iterator[bytes]:
    """The pieces of a body as they come."""
    announced, came = response.headers.get("Content-Length"), 0
    with response:
        while True:
            if stop.is_set():
                raise Failure("Cancelled")
            try:
                piece = response.read1(PIECE_BYTES)
            except (http.client.HTTPException, OSError) as error:
                raise Failure("Network", received=str(error), again=True) from error
            if not piece and announced is not None and came < int(announced):
                raise Failure("Network", received="a connection that broke", again=True)
            if not piece:
                return
            came += len(piece)
            yield piece


def persist(stop: threading.Event, attempt: Callable[[], Result],
            gained: Callable[[], int] = lambda: 0) -> Result:
    """Tries again, later and later, for as long as a try brings something."""
    had, tries = gained(), 0
    while True:
        try:
            return attempt()
        except Failure as failure:
            if not failure.again:
                raise
            if gained() > had:
                had, tries = gained(), 0
            tries += 1
            if tries == TRIES:
                raise
            wait = LIMITS.retry_s * 2 ** (tries - 1) if failure.after_s is None else failure.after_s
            if stop.wait(wait):
                raise Failure("Cancelled") from failure


def whole_size(response: Any) -> int | None:
    """The length of the whole file, as far as an answer says it."""
    found = re.search(r"/(\d+)$", response.headers.get("Content-Range", ""))
    if found:
        return int(found[1])
    length = response.headers.get("Content-Length")
    return None if length is None or response.status in (206, 416) else int(length)


def validator(response: Any) -> str | None:
    """What stays the same as long as a file does: a strong ETag, else its date."""
    etag = response.headers.get("ETag")
    if etag is not None and not etag.startswith("W/"):
        return str(etag)
    date = response.headers.get("Last-Modified")
    return None if date is None else str(date)
