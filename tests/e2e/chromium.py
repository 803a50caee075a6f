"""Chromium as a process of its own, so that a test can end it as a power cut would.

Playwright attaches over the DevTools protocol. Its own way of starting a browser turns off the
throttling of background tabs, and it cannot kill what it started; ours is what a visitor has.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Playwright

from tools.chromium import QUIET_FLAGS, WEBGPU_FLAGS

ADDRESS_FILE = "DevToolsActivePort"
LOG_FILE = "chromium.log"
START_SECONDS = 90


class Chromium:
    """A headless browser with one profile folder, which outlives the process.

    Args:
        playwright: a started driver.
        executable: path of the browser.
        profile: where it keeps cookies, caches and OPFS.
        plain: Playwright changes nothing; without it a page always believes that it is in front.
        flags: further words of its command line.

    Example:
        with Chromium(playwright, "chromium", tmp_path) as chromium:
            page = chromium.context.new_page()
    """

    def __init__(self, playwright: Playwright, executable: str, profile: Path, *,
                 plain: bool = False, flags: Sequence[str] = ()) -> None:
        self.playwright = playwright
        self.profile = profile
        words = [executable, "--headless=new", *QUIET_FLAGS, *WEBGPU_FLAGS, *flags,
                 "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
        profile.mkdir(parents=True, exist_ok=True)
        (profile / ADDRESS_FILE).unlink(missing_ok=True)
        with (profile / LOG_FILE).open("wb") as log:
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=log, start_new_session=True)
        try:
            self.browser: Browser = playwright.chromium.connect_over_cdp(self._address(),
                                                                         no_defaults=plain)
        except BaseException:
            self.kill()
            raise

    def _address(self) -> str:
        """Where it listens: it writes that into its profile when it is ready."""
        place = self.profile / ADDRESS_FILE
        late = time.monotonic() + START_SECONDS
        while time.monotonic() < late and self._process.poll() is None:
            lines = place.read_text().splitlines() if place.exists() else []
            if len(lines) == 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            time.sleep(0.02)
        said = (self.profile / LOG_FILE).read_text(errors="replace")[-600:]
        raise RuntimeError(f"The browser did not start: {said}")

    @property
    def context(self) -> BrowserContext:
        """The profile's own context: what it stores is on disk."""
        return self.browser.contexts[0]

    def gpu_process(self) -> int:
        """The process id of the GPU process, which every tab shares."""
        session = self.browser.new_browser_cdp_session()
        try:
            processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        finally:
            session.detach()
        (found,) = [process["id"] for process in processes if process["type"] == "GPU"]
        return int(found)

    def kill_gpu_process(self) -> None:
        """Ends it without warning: every WebGPU device of the browser is lost."""
        os.kill(self.gpu_process(), signal.SIGKILL)

    def kill(self) -> None:
        """Ends every process of the browser at once, without warning."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def close(self) -> None:
        """Ends the browser; what it had stored is on disk."""
        if self._process.poll() is None:
            self.browser.close()
        self.kill()

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

