"""The tabgrad wheel: complete, dependent on NumPy alone, and the same bytes each time."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from tabgrad.evaluate.tasks import BUILT_IN
from tabgrad.platform.js_modules import link
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
    tasks = {f"tabgrad/tasks/{name}.jsonl" for name in BUILT_IN}
    assert python | kernels | tasks | {"tabgrad/protocol.json"} <= inside
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


def test_its_javascript_is_complete_and_needs_no_folder(wheel: tuple[str, bytes]) -> None:
    archive = zipfile.ZipFile(io.BytesIO(wheel[1]))
    sources = {name.removeprefix("tabgrad/js/"): archive.read(name).decode()
               for name in archive.namelist()
               if name.startswith("tabgrad/js/") and name.endswith(".js")}
    published: list[str] = []

    def publish(text: str) -> str:
        published.append(text)
        return f"blob:{len(published)}"

    assert link(sources, "seam.js", publish) == f"blob:{len(sources)}"  # nothing is superfluous
    assert "openGpu" in published[-1]
    assert not [text for text in published if "import.meta" in text]
    vendored = {name.split("/")[1] for name in sources if name.startswith("vendor/")}
    assert {f"tabgrad/js/vendor/{name}/LICENSE" for name in vendored} <= set(archive.namelist())


def test_its_record_lists_every_file(wheel: tuple[str, bytes]) -> None:
    archive = zipfile.ZipFile(io.BytesIO(wheel[1]))
    assert archive.testzip() is None
    (record,) = (name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
    rows = list(csv.reader(archive.read(record).decode().splitlines()))
    assert sorted(row[0] for row in rows) == sorted(archive.namelist())
    for name, digest, size in rows:
        if name != record:
            content = archive.read(name)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            assert digest == f"sha256={wanted.decode()}" and int(size) == len(content)


@pytest.mark.parametrize(("sources", "words"), [
    ({"a.js": 'import "./b.js";'}, "a.js needs b.js"),
    ({"a.js": 'import { b }\n  from "./b.js";', "b.js": 'export * from "./a.js";'}, "itself")])
def test_modules_that_cannot_be_linked_are_named(sources: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        link(sources, "a.js", lambda text: "blob:1")


def test_words_that_only_look_like_imports_stay() -> None:
    text = ('/** @typedef {import("./b.js").B} B */\nconst a = "./b.js";\n'
            "export const from = './b.js';\n")
    assert link({"a.js": text}, "a.js", lambda published: published) == text
