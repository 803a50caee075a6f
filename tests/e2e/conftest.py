"""Fixtures of the browser tests: the site is built once, and served as any static host would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Playwright, expect, sync_playwright

from tests.e2e import passes
from tests.e2e.chromium import Chromium
from tests.e2e.fake_page import fake_site, opened, plain_browser
from tests.e2e.hosting import Host
from tests.e2e.python_page import PythonPage, make_site
from tests.e2e.tab import Tab
from tools import environment, site, system

__all__ = ["fake_site", "opened", "plain_browser"]

expect.set_options(timeout=30_000)  # what comes late on a busy machine has come; no test waits more


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """One driver for all browsers of the session."""
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site, in a folder of this session: what is edited meanwhile does not reach it."""
    return site.build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def site_url(built_site: Path) -> Iterator[str]:
    """Where the built page is, deep in an address of a host that sends no header of ours."""
    with Host(built_site) as host:
        yield host.url


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser's program."""
    return system.chromium()


@pytest.fixture(scope="module")
def chromium(playwright: Playwright, chromium_path: str,
             tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser for the tests of a file, with an empty profile."""
    with Chromium(playwright, chromium_path, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def visitor(chromium: Chromium, site_url: str) -> Iterator[Chromium]:
    """The browser of `chromium`, in which the kernels of this build may have passed before."""
    passes.give(chromium, site_url)
    yield chromium
    passes.take(chromium, site_url)


@pytest.fixture(scope="session")
def booted(playwright: Playwright, chromium_path: str, site_url: str,
           tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """The built page, booted once in a browser that no test kills: its kernels compile once."""
    with Chromium(playwright, chromium_path, tmp_path_factory.mktemp("shared")) as browser:
        passes.give(browser, site_url)
        tab = Tab(browser.context, site_url).open()
        passes.take(browser, site_url)  # another process may need it now
        yield tab
        passes.take(browser, site_url)


@pytest.fixture
def tab(booted: Tab) -> Iterator[Tab]:
    """The booted page; the test fails on a console message, page error or foreign request."""
    booted.mark()
    booted.forget()
    booted.problems.clear()
    yield booted
    booted.check_clean()


@pytest.fixture(scope="session")
def python_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that is served as `python_page_url`: a test may lay files beside the page."""
    return tmp_path_factory.mktemp("python_page")


@pytest.fixture(scope="session")
def python_page_url(python_page: Path) -> Iterator[str]:
    """A page whose worker runs the Python that it is sent."""
    address = make_site(python_page, environment.python("build"))
    with Host(python_page) as host:
        yield host.url + address


@pytest.fixture(scope="session")
def python_tab(playwright: Playwright, chromium_path: str, python_page_url: str,
               tmp_path_factory: pytest.TempPathFactory) -> Iterator[PythonPage]:
    """Pyodide in a worker of a browser that no test kills: it boots once."""
    with Chromium(playwright, chromium_path, tmp_path_factory.mktemp("python")) as browser:
        yield PythonPage(browser.context, python_page_url)


@pytest.fixture
def browser_python(python_tab: PythonPage) -> PythonPage:
    """Runs Python code in Pyodide, in a worker of Chromium: `browser_python(code)`. Each call has
    names of its own; a test closes the devices that it opens."""
    python_tab.problems.clear()
    return python_tab
