"""Files from hosts: what both platforms give back, how one cancels, and the words of each failure.

A failure has one of the kinds in `_WORDS`, whichever side of the seam it comes from, so that the
tab and CPython say the same.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from tabgrad.errors import Cancelled, DownloadError, StorageError, TabgradError

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (bytes that are here, bytes of the whole file), at most ten times a second."""


_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[ -~]+")


@dataclass(frozen=True)
class Downloaded:
    """A file that is here now.

    Args:
        size: in bytes.
        etag: what the host calls this version of it (its date, where it has no ETag), if it says.
        sha256: of its bytes, in hexadecimal.
    """

    size: int
    etag: str | None
    sha256: str


@dataclass(frozen=True)
class Start:
    """The first bytes of a file, and what its host says of all of it.

    Args:
        data: as many bytes as were asked for, or the whole file where it is shorter.
        size: length of the whole file in bytes; None where the host does not tell.
        etag: as in `Downloaded`.
    """

    data: bytes
    size: int | None
    etag: str | None


class Cancel:
    """Cancels transfers that were given it.

    Example:
        >>> cancel = Cancel()
        >>> forget = cancel.listen(lambda: print("stopped"))
        >>> cancel.cancel()
        stopped
        >>> cancel.cancelled
        True
    """

    def __init__(self) -> None:
        self.cancelled = False
        self._listeners: list[Callable[[], None]] = []

    def cancel(self) -> None:
        """Tells all that listen; a second call does nothing."""
        if not self.cancelled:
            self.cancelled = True
            for listener in list(self._listeners):
                listener()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` when cancelled, or now if it is; what this returns forgets it."""
        if self.cancelled:
            listener()
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


TOKEN_CONTROL = "access-token"
"""The page's control for what a host answers 401 or 403 without."""

# kind: (message, remedy). {file}, {host} and {url} are filled in.
_WORDS = {
    "Busy": ("{file} is being downloaded in another tab.", "Wait for it, or close that tab."),
    "Changed": ("{file} changed on {host} while it was being downloaded.", "Start again."),
    "Cors": ("{host} does not let web pages read {file}.",
             "Download the model's files and drop them on the page, or use a host that sends the "
             "header Access-Control-Allow-Origin, as the Hugging Face hub does."),
    "Forbidden": ("{host} does not give {file} to everyone.",
                  "Accept the model's licence on its page there and give an access token that may "
                  "read it, or download its files and drop them on the page. Some hosts answer so "
                  "as well where there is no model of this name."),
    "Network": ("{host} cannot be reached.",
                "Check the connection and the address; a download goes on where it stopped."),
    "NotFound": ("{host} has no {file}.", "Check the address: {url}"),
    "Status": ("{host} could not send {file}.", "Try again later."),
    "Truncated": ("{file} ends before it should.",
                  "The copy on {host} is incomplete: use another one."),
    "WebPage": ("{host} sent a web page in place of {file}.",
                "Check that the address is the folder itself: {url}"),
    "WrongHash": ("{file} is not the file that was announced: its SHA-256 is another one.",
                  "What came was deleted. Start again, or use another host."),
    "WrongSize": ("{file} does not have the length that was announced.",
                  "Start again, or use another host."),
}


def transfer_error(kind: str, url: str, expected: str | None = None,
                   received: str | None = None) -> TabgradError:
    """The error of a kind, in words.

    Args:
        kind: "Cancelled", "Quota", or a key of `_WORDS`.
        url: what was asked for.
        expected: what would have been right.
        received: what came instead.

    Example:
        >>> error = transfer_error("NotFound", "https://a.example/m/config.json")
        >>> error.code, error.message
        ('download', 'a.example has no config.json.')
    """
    parts = urlsplit(url)
    names = {"host": parts.netloc or "The computer", "url": url,
             "file": parts.path.rsplit("/", 1)[-1] or url}
    if kind == "Cancelled":
        return Cancelled(f"The download of {names['file']} was cancelled.")
    if kind == "Quota":
        return StorageError(f"There is no room for {names['file']}.", expected=expected,
                            received=received,
                            remedy="Delete a model or a run, or free disk space.")
    message, remedy = _WORDS[kind]
    return DownloadError(message.format(**names), kind=kind, expected=expected, received=received,
                         remedy=remedy.format(**names),
                         control=TOKEN_CONTROL if kind == "Forbidden" else None)


def looks_like_html(data: bytes) -> bool:
    """Whether a file begins as a web page does: what some hosts send for a file they lack.

    Example:
        >>> looks_like_html(b" <!DOCTYPE html><html>"), looks_like_html(b'{"a": 1}')
        (True, False)
    """
    return data[:512].lstrip().lower().startswith((b"<!doctype", b"<html"))


def check_address(url: str) -> str:
    """The address, once it is known to be one that is fetched from: https, or this computer.

    Raises:
        DownloadError: another scheme, http of another computer, a name or password inside.

    Example:
        >>> check_address("http://localhost:8000/model/config.json")
        'http://localhost:8000/model/config.json'
        >>> check_address("http://[::1]:8000/")
        'http://[::1]:8000/'
    """
    parts = urlsplit(url)
    here = _is_here(parts.hostname or "")
    if parts.scheme != "https" and not (parts.scheme == "http" and here):
        raise DownloadError("This address cannot be downloaded from.", kind="Address",
                            expected="https://..., or http:// of this computer",
                            received=url[:200])
    if parts.username is not None or not parts.hostname:
        raise DownloadError("This address cannot be downloaded from.", kind="Address",
                            expected="a host, and no name or password", received=url[:200])
    return url


def check_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """The headers that go along with requests, once none can break one; {} for None.

    Checked here because what sends them would repeat a wrong one in its error, and it may be a
    secret: this error says nothing of it.

    Raises:
        DownloadError: a name or a value that is no text of printable ASCII.

    Example:
        >>> check_headers({"Authorization": "Bearer hf_x"})
        {'Authorization': 'Bearer hf_x'}
    """
    sent = dict(headers or {})
    for name, value in sent.items():
        if not (isinstance(name, str) and _NAME.fullmatch(name) and isinstance(value, str)
                and _VALUE.fullmatch(value)):
            raise DownloadError("A header cannot be sent: an access token has a character that "
                                "none may have.", kind="Headers",
                                expected="letters, digits and signs of ASCII, in one line",
                                remedy="Copy the token again.", control=TOKEN_CONTROL)
    return sent


def _is_here(host: str) -> bool:
    """Whether a host is this computer, as browsers see it: such pages may use the GPU."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
