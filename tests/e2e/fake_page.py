"""The built page over a test double of its worker, as fixtures; conftest.py offers them."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.hosting import Host

Opened = Callable[..., Page]
A_DAY = 86_400  # seconds

FAKES = [Path(__file__).with_name(name) for name in
         ("fake_models.js", "fake_finetune.js", "fake_evaluate.js", "fake_worker.js")]


def double(scenario: dict[str, Any]) -> str:
    """The worker's test double, as one module."""
    return "\n".join([f"globalThis.SCENARIO = {json.dumps(scenario)};",
                      *(path.read_text() for path in FAKES)])


class FakeSite(Host):
    """The built page, with the test double where its worker was."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._worker = next(folder.glob("site-*/worker.js"))
        self._date = time.time() + A_DAY

    def play(self, scenario: dict[str, Any]) -> None:
        """Puts the double of a scenario there.

        Each is a second younger than the one before, since a plain host tells of changes by the
        second; and dated tomorrow, since a browser takes a file that was old when it came for
        unchanged for a while, without asking.
        """
        self._worker.write_text(double(scenario))
        self._date += 1
        os.utime(self._worker, (self._date, self._date))


@pytest.fixture(scope="module")
def fake_site(built_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeSite]:
    """The site, for the tests of a file."""
    folder = tmp_path_factory.mktemp("fake") / "site"
    shutil.copytree(built_site, folder, ignore=shutil.ignore_patterns("pyodide*", "package*"))
    with FakeSite(folder) as host:
        yield host


@pytest.fixture(scope="module")
def plain_browser(playwright: Any, chromium_path: str) -> Iterator[Browser]:
    """A browser without a GPU: nothing here needs one."""
    browser = playwright.chromium.launch(executable_path=chromium_path,
                                         args=["--headless=new", "--no-sandbox"])
    yield browser
    browser.close()


@pytest.fixture
def opened(fake_site: FakeSite, plain_browser: Browser) -> Iterator[Opened]:
    """Opens the page in a scenario of fake_worker.js; at the end nothing may have gone wrong."""
    contexts, wrong = [], []

    def open_page(scenario: dict[str, Any] | None = None, *, width: int = 1440, height: int = 900,
                  dark: bool = False, address: str = "", wait: bool = True) -> Page:
        fake_site.play(scenario or {})
        context = plain_browser.new_context(viewport={"width": width, "height": height},
                                            color_scheme="dark" if dark else "light")
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(fake_site.url + address)
        if wait:
            page.evaluate("tabgrad.ready()")
            expect(page.locator("#max_steps")).to_be_enabled()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
