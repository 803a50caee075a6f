"""What passed the self-test in one browser of the tests need not be tested in the next.

A visitor's browser remembers it; the tests begin with empty profiles, and compiled the same kernels
in each. What is not known is tested, as ever: test_offline.py begins with nothing.
"""

from __future__ import annotations

from typing import Any

from tests.e2e.chromium import Chromium
from tools import passes


def give(browser: Chromium, site_url: str) -> None:
    """Writes what is known into a profile, before the page is opened there."""
    known = passes.kept(browser.browser.version).known()
    _run(browser, site_url, passes.WRITE, [*passes.PLACE, known])


def take(browser: Chromium, site_url: str) -> None:
    """Learns what has passed in a profile."""
    found = _run(browser, site_url, passes.READ, [*passes.PLACE])
    passes.kept(browser.browser.version).learn(found)


def _run(browser: Chromium, site_url: str, code: str, argument: list[str]) -> Any:
    page = browser.context.new_page()
    page.goto(site_url + passes.A_FILE_OF_THE_ORIGIN)
    value = page.evaluate(code, argument)
    page.close()
    return value
