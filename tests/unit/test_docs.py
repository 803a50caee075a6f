"""Runs the Python blocks of every page in docs/, top to bottom, as a reader would."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tabgrad.gpu.device import Device
from tests import talking_model
from tests.helpers import opened, run

DOCS = Path(__file__).parents[2] / "docs"
# A tiny model of our own is loaded in place of the one that the pages name.
NAMED = '"HuggingFaceTB/SmolLM2-135M-Instruct"'
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The line on which each block starts, and its code."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in BLOCK.finditer(text)]


PAGES = [page for page in sorted(DOCS.glob("*.md")) if blocks(page)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talking_model.save(tmp_path_factory.mktemp("talking"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": page.stem}
    opened("webgpu")
    try:
        for line, code in blocks(page):
            # Empty lines, so that a traceback names the page's own lines.
            source = "\n" * line + code.replace(NAMED, repr(str(model)))
            compiled = compile(source, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            result = eval(compiled, namespace)
            if result is not None:
                run(result)
    finally:
        page_device = namespace.get("device")
        if isinstance(page_device, Device):
            page_device.close()
        opened("webgpu")


def test_these_pages_are_among_them() -> None:
    assert {"framework.md", "python.md"} <= {page.name for page in PAGES}
