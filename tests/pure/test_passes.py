"""Passes of the self-test go from one headless browser to the next, and none is lost."""

from __future__ import annotations

import json
from pathlib import Path

from tabgrad.app.selftest import FILE
from tools.passes import PLACE, Passes


def test_tables_are_joined_by_adapter(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "passes.json"
    first, second = Passes(path), Passes(path)  # of two processes
    assert first.known() == "{}"
    first.learn(json.dumps({"a": "code", "b": ["1", "3"]}))
    second.learn(json.dumps({"b": ["2"], "c": ["9"]}))
    assert json.loads(first.known()) == {"a": "code", "b": ["1", "2", "3"], "c": ["9"]}
    second.learn(json.dumps({"a": "newer code"}))
    assert json.loads(first.known())["a"] == "newer code"


def test_it_is_written_where_the_application_reads(tmp_path: Path) -> None:
    assert PLACE[1] == FILE
    main = Path(__file__).parents[2] / "web" / "py" / "tabgrad" / "app" / "main.py"
    assert f'_FOLDER = "{PLACE[0]}"' in main.read_text()
