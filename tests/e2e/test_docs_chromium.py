"""The Python of every page in docs/ runs in the tab as it does on CPython."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.python_page import PythonPage
from tests.unit.test_docs import PAGES, blocks


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(browser_python: PythonPage, page: Path) -> None:
    code = "\n".join(block for _, block in blocks(page))
    browser_python.problems.clear()
    assert browser_python(f"{code}\ntuple(sorted(globals()))")
    # What the page prints is no problem.
    assert [said for said in browser_python.problems if not said.startswith("log: ")] == []
