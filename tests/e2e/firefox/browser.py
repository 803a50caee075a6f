"""As much of a Playwright context and page as `Tab` asks for, in Firefox.

Playwright drives only its own build of Firefox; ours is the one that the system has.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tools import node
from tools.shell import ROOT

DRIVER = Path(__file__).parent / "driver.mjs"
WEBGPU = ("dom.webgpu.enabled", "dom.webgpu.workers.enabled", "gfx.webgpu.ignore-blocklist")
Handler = Callable[[Any], None]


class Firefox:
    """A headless Firefox with one page: both the context and the page that `Tab` uses.

    Args:
        profile: its profile folder, which outlives the process.
        webgpu: False leaves WebGPU off, as Debian's Firefox has it.
    """

    def __init__(self, profile: Path, *, webgpu: bool = True) -> None:
        executable = shutil.which("firefox-esr") or shutil.which("firefox")
        assert executable is not None, "Firefox is missing: install the package firefox-esr"
        node.modules()
        profile.mkdir(parents=True, exist_ok=True)
        preferences = dict.fromkeys(WEBGPU, webgpu)
        self._driver = subprocess.Popen(
            ["node", str(DRIVER), executable, str(profile), json.dumps(preferences)], cwd=ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self._handlers: dict[str, list[Handler]] = {}
        self._last = 0

    # --- the context --------------------------------------------------------------------------

    def new_page(self) -> Firefox:
        """The one page."""
        return self

    def on(self, event: str, handler: Handler) -> None:
        """Calls `handler` for each event of that name."""
        self._handlers.setdefault(event, []).append(handler)

    def remove_listener(self, event: str, handler: Handler) -> None:
        """Takes a handler off again."""
        self._handlers[event].remove(handler)

    # --- the page -----------------------------------------------------------------------------

    def goto(self, url: str) -> None:
        """Opens an address."""
        self._ask("goto", url=url)

    def reload(self) -> None:
        """Loads the page again."""
        self._ask("reload")

    def evaluate(self, source: str, argument: Any = None) -> Any:
        """Calls a JavaScript function, given as text; a promise is awaited."""
        return self._ask("evaluate", source=source, argument=argument)

    def set_default_timeout(self, milliseconds: float) -> None:
        """The driver has its own limit."""

    def wait_for_timeout(self, milliseconds: float) -> None:
        """Waits, and lets events in."""
        time.sleep(milliseconds / 1000)
        self.evaluate("() => null")

    def close(self) -> None:
        """Ends the browser and its driver."""
        if self._driver.poll() is None:
            self._ask("close")
            self._driver.wait(20)

    def __enter__(self) -> Firefox:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        finally:
            if self._driver.poll() is None:
                os.killpg(self._driver.pid, signal.SIGKILL)
                self._driver.wait()

    def _ask(self, method: str, **fields: Any) -> Any:
        assert self._driver.stdin is not None and self._driver.stdout is not None
        self._last += 1
        self._driver.stdin.write(json.dumps({"id": self._last, "method": method, **fields}) + "\n")
        self._driver.stdin.flush()
        for line in self._driver.stdout:
            message = json.loads(line)
            if "event" in message:
                self._dispatch(message)
            elif message["id"] == self._last:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
        raise AssertionError(f"{method}: Firefox's driver ended")

    def _dispatch(self, message: dict[str, Any]) -> None:
        given = message["text"] if message["event"] == "pageerror" else SimpleNamespace(**message)
        for handler in self._handlers.get(message["event"], []):
            handler(given)
