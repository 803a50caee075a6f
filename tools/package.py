"""The tabgrad wheel: the Python package with its kernels, its table of messages, and the JavaScript
that it needs in a page which has nothing else of tabgrad."""

from __future__ import annotations

import base64
import hashlib
import io
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tools import node, vendor
from tools.shell import ROOT, WEB, run

SEAM = ("seam.js", "replay.js", "opfs.js", "opfs_reader.js", "tick.js")
SEAM_FOLDERS = ("gpu", "hub", "text")
MADE = (2020, 1, 1, 0, 0, 0)  # so that the same sources give the same bytes


def version() -> str:
    """As pyproject.toml says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def build_wheel(python: Path) -> tuple[str, bytes]:
    """File name and content of the wheel; the same sources give the same bytes."""
    node.modules()
    with tempfile.TemporaryDirectory() as scratch:
        run([python, "-m", "hatchling", "build", "--target", "wheel", "--directory", scratch],
            "Building the tabgrad wheel", env={"SOURCE_DATE_EPOCH": "1577836800"})
        (path,) = Path(scratch).glob("*.whl")
        return path.name, with_files(path.read_bytes(), {
            f"tabgrad/js/{name}": content for name, content in javascript().items()})


def javascript() -> dict[str, bytes]:
    """What web/seam.js is and imports, by paths relative to it."""
    paths = [*(WEB / name for name in SEAM),
             *(path for folder in SEAM_FOLDERS for path in sorted((WEB / folder).glob("*.js")))]
    return {path.relative_to(WEB).as_posix(): path.read_bytes() for path in paths} | (
        vendor.for_workers())


def with_files(wheel: bytes, files: Mapping[str, bytes]) -> bytes:
    """A wheel with more files in it, which its RECORD lists as the others."""
    made = io.BytesIO()
    with (zipfile.ZipFile(io.BytesIO(wheel)) as old,
          zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new):
        (record,) = (entry for entry in old.infolist()
                     if entry.filename.endswith(".dist-info/RECORD"))
        for entry in old.infolist():
            if entry is not record:
                new.writestr(entry, old.read(entry))
        for name, content in files.items():
            new.writestr(_entry(name), content)
        lines = [_line(name, content) for name, content in files.items()]
        new.writestr(record, "".join([*lines, old.read(record).decode()]))
    return made.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, MADE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"
