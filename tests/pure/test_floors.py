"""A file of the package imports only from its own floor or from one below."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "web" / "py" / "tabgrad"
TABLE = ROOT / "docs" / "architecture.md"


def floors() -> dict[str, int]:
    """Module or package -> floor, as the table in docs/architecture.md says."""
    rows = re.findall(r"^\| (\d) \| (.+) \|$", TABLE.read_text(), flags=re.MULTILINE)
    return {name.removesuffix(".py"): int(floor)
            for floor, cell in rows for name in re.findall(r"`([a-z_.]+)`", cell)}


def imports(source: str, module: str) -> set[str]:
    """Parts of tabgrad (first names below it) that the source of `module` imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names
                      if alias.name.startswith("tabgrad.")}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            if node.module == "tabgrad":
                found |= {alias.name for alias in node.names}
            elif (node.module or "").startswith("tabgrad."):
                found.add(node.module.split(".")[1])
    return found


def upward(source: str, part: str, table: dict[str, int]) -> set[str]:
    """Imports that go up from `part`."""
    return {other for other in imports(source, part) if table[other] > table[part]}


def files() -> list[Path]:
    """Every file but the package's own `__init__`, which stands above all floors."""
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    table = floors()
    assert part in table, f"'{part}' has no floor in docs/architecture.md"
    assert not upward(path.read_text(), part, table)


def test_an_import_that_goes_up_is_noticed() -> None:
    table = floors()
    assert table["app"] == 6 and table["errors"] == 0
    assert upward("from tabgrad.app.main import handle", "gpu", table) == {"app"}
    assert upward("from tabgrad import nn", "tensor", table) == {"nn"}
    assert upward("import tabgrad.errors", "gpu", table) == set()
