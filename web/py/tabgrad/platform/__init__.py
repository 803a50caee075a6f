"""The seam between tabgrad and where it runs: a GPU, files, a clock, the event loop."""

from __future__ import annotations

import sys

from tabgrad.platform.files_protocol import Entry, Files, Lock
from tabgrad.platform.protocol import Platform

__all__ = ["Entry", "Files", "Lock", "Platform", "current"]

_current: Platform | None = None


def current() -> Platform:
    """The platform this Python runs on: the browser under Emscripten, else native.

    Example:
        >>> current().name
        'native'
    """
    global _current
    if _current is None:
        if sys.platform == "emscripten":
            from tabgrad.platform.browser import BrowserPlatform
            _current = BrowserPlatform()
        else:
            from tabgrad.platform.native import NativePlatform
            _current = NativePlatform()
    return _current
