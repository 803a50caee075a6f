"""Budgets that keep the code readable: short files, short lines, short functions."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_FILE_LINES = 350
MAX_LINE = 100
MAX_FUNCTION_LINES = 50

PYTHON = [*ROOT.glob("build.py"), *(path for folder in ("web/py/tabgrad", "tools", "tests",
                                                       "benchmarks")
                                    for path in ROOT.glob(f"{folder}/**/*.py"))]
WEB = [*ROOT.glob("web/*.js"), *ROOT.glob("web/gpu/**/*.js"),
       *ROOT.glob("web/hub/**/*.js"), *ROOT.glob("web/text/**/*.js"),
       *ROOT.glob("web/app/**/*.js"),
       *ROOT.glob("web/wgsl/**/*.wgsl"), *ROOT.glob("web/style/**/*.css")]


def too_long(path: Path, text: str) -> list[str]:
    """What in a file is over its budget."""
    lines = text.splitlines()
    found = [f"{path}:{number}: {len(line)} characters"
             for number, line in enumerate(lines, 1) if len(line) > MAX_LINE]
    if len(lines) > MAX_FILE_LINES:
        found.append(f"{path}: {len(lines)} lines")
    return found


def long_functions(path: Path, text: str) -> list[str]:
    """Functions over the budget; decorators and the docstring do not count."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first, last = node.body[0], node.body[-1]
        docstring = ast.get_docstring(node, clean=False) is not None
        inside = last.end_lineno - (first.end_lineno if docstring else first.lineno - 1)
        signature = first.lineno - node.lineno
        if signature + inside > MAX_FUNCTION_LINES:
            found.append(f"{path}:{node.lineno}: {node.name} has {signature + inside} lines")
    return found


@pytest.mark.parametrize("files", [PYTHON, WEB], ids=["python", "web"])
def test_files_and_lines_are_short(files: list[Path]) -> None:
    assert len(files) > 3, "the search found hardly any file"
    found = [each for path in files for each in too_long(path.relative_to(ROOT), path.read_text())]
    assert not found, "\n".join(found)


def test_functions_are_short() -> None:
    found = [each for path in PYTHON
             for each in long_functions(path.relative_to(ROOT), path.read_text())]
    assert not found, "\n".join(found)


def test_the_checks_notice_what_is_too_long() -> None:
    path = Path("example.py")
    assert too_long(path, "x" * 101) == ["example.py:1: 101 characters"]
    assert too_long(path, "\n".join("x" * 351)) == ["example.py: 351 lines"]
    body = "\n".join(["    x = 1"] * 50)
    assert long_functions(path, f"def f():\n{body}") == ["example.py:1: f has 51 lines"]
    documented = f'def f():\n    """Long.\n\n    Very.\n    """\n{body[10:]}'
    assert long_functions(path, documented) == []
