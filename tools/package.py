"""The tabgrad wheel: the Python package with its kernels and its table of messages."""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path

from tools.shell import ROOT, run


def version() -> str:
    """As pyproject.toml says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def build_wheel(python: Path) -> tuple[str, bytes]:
    """File name and content of the wheel; the same sources give the same bytes."""
    with tempfile.TemporaryDirectory() as scratch:
        run([python, "-m", "hatchling", "build", "--target", "wheel", "--directory", scratch],
            "Building the tabgrad wheel", env={"SOURCE_DATE_EPOCH": "1577836800"})
        (path,) = Path(scratch).glob("*.whl")
        return path.name, path.read_bytes()
