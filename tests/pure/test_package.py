"""The tabgrad wheel: complete, dependent on NumPy alone, and the same bytes each time."""

from __future__ import annotations

import io
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from tools import package
from tools.shell import WEB


@pytest.fixture(scope="module")
def wheel() -> tuple[str, bytes]:
    return package.build_wheel(Path(sys.executable))


def test_the_wheel_has_the_package_its_kernels_and_the_messages(wheel: tuple[str, bytes]) -> None:
    name, content = wheel
    assert name == f"tabgrad-{package.version()}-py3-none-any.whl"
    inside = set(zipfile.ZipFile(io.BytesIO(content)).namelist())
    source = WEB / "py"
    python = {path.relative_to(source).as_posix() for path in source.glob("tabgrad/**/*.py")}
    kernels = {f"tabgrad/{path.relative_to(WEB).as_posix()}" for path in WEB.rglob("*.wgsl")}
    assert len(python) > 50 and len(kernels) > 10
    assert python | kernels | {"tabgrad/protocol.json"} <= inside
    assert not [path for path in inside if "stubs" in path or "__pycache__" in path]


def test_the_wheel_needs_numpy_and_offers_wgpu(wheel: tuple[str, bytes]) -> None:
    archive = zipfile.ZipFile(io.BytesIO(wheel[1]))
    (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = message_from_string(archive.read(path).decode())
    needs = metadata.get_all("Requires-Dist") or []
    assert [need for need in needs if "extra ==" not in need] == ["numpy"]
    assert [need.split(";")[1].strip() for need in needs if "wgpu" in need] == ["extra == 'native'"]
    assert metadata["Requires-Python"] == ">=3.11"


def test_the_same_sources_make_the_same_bytes(wheel: tuple[str, bytes]) -> None:
    assert package.build_wheel(Path(sys.executable)) == wheel
