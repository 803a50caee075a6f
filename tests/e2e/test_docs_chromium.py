"""The Python of every page in docs/ runs in the tab as it does on CPython."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import talking_model
from tests.e2e.python_page import PythonPage
from tests.unit.test_docs import NAMED, PAGES, blocks
from tools.folder_server import FolderServer

CLOSE = """
from tabgrad.gpu.device import use_device
if (last := use_device(None)) is not None:
    last.close()
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with FolderServer(talking_model.save(tmp_path_factory.mktemp("talking"))) as server:
        yield server.url


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(browser_python: PythonPage, model: str, page: Path) -> None:
    code = "\n".join(block for _, block in blocks(page)).replace(NAMED, repr(model))
    assert browser_python(f"{code}\ntuple(sorted(globals()))")
    browser_python(CLOSE)
    # What the page prints is no problem.
    assert [said for said in browser_python.problems if not said.startswith("log: ")] == []
