"""Pyodide's wheels are accepted by their hash alone, wherever they come from."""

from __future__ import annotations

import hashlib
import json
import urllib.request
from pathlib import Path

import pytest

from tools import wheels
from tools.shell import BuildError

RIGHT, WRONG = b"the right file", b"another file"
SHA256 = hashlib.sha256(RIGHT).hexdigest()
OTHER = hashlib.sha256(WRONG).hexdigest()
WHEEL = wheels.Wheel("numpy", "numpy-1.whl", SHA256)


def source(name: str, content: bytes | None) -> wheels.Source:
    return name, lambda file_name: content


def test_the_first_right_file_is_taken() -> None:
    sources = [source("cache", None), source("cdn", RIGHT), source("carrier", WRONG)]
    assert wheels.fetch(WHEEL, sources) == RIGHT


def test_a_wrong_file_is_refused_with_its_name_and_both_hashes(
        capsys: pytest.CaptureFixture[str]) -> None:
    assert wheels.fetch(WHEEL, [source("cache", WRONG), source("carrier", RIGHT)]) == RIGHT
    told = capsys.readouterr().err
    assert all(word in told for word in ("numpy-1.whl", "cache", SHA256, OTHER))


def test_without_a_right_file_the_build_fails_and_names_what_was_refused() -> None:
    with pytest.raises(BuildError) as failure:
        wheels.fetch(WHEEL, [source("cache", None), source("carrier", WRONG)])
    assert all(word in str(failure.value) for word in ("numpy-1.whl", "carrier", SHA256, OTHER))


def test_a_wrong_file_in_the_cache_is_replaced(tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"depends": [], "file_name": "numpy-1.whl", "sha256": SHA256}
    lock = {"packages": dict.fromkeys(wheels.PACKAGES, entry)}
    kept = tmp_path / "pyodide-1" / "numpy-1.whl"
    kept.parent.mkdir()
    kept.write_bytes(WRONG)
    monkeypatch.setenv("TABGRAD_CACHE", str(tmp_path))
    monkeypatch.setattr(wheels._Cdn, "read", lambda self, name: RIGHT)
    assert wheels.fetch_all(lock, "1", Path("python")) == {"numpy-1.whl": RIGHT}
    assert kept.read_bytes() == RIGHT


def test_what_the_packages_depend_on_comes_too() -> None:
    lock = {"info": {"python": "3"}, "packages": {
        name: {"depends": depends, "file_name": f"{name}.whl", "sha256": SHA256}
        for name, depends in {"numpy": ["openblas"], "openblas": [], "scipy": []}.items()}}
    found = wheels.needed(lock, ["numpy"])
    assert [wheel.package for wheel in found] == ["numpy", "openblas"]
    kept = json.loads(wheels.trimmed(lock, found))
    assert sorted(kept["packages"]) == ["numpy", "openblas"] and kept["info"] == lock["info"]
    with pytest.raises(BuildError, match="no package 'torch'"):
        wheels.needed(lock, ["torch"])


def test_a_silent_cdn_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(address: str, timeout: float) -> None:
        asked.append((address, timeout))
        raise OSError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    cdn = wheels._Cdn("314.0.3")
    assert cdn.read("a.whl") is None and cdn.read("b.whl") is None
    ((address, timeout),) = asked
    assert address.endswith("/v314.0.3/full/a.whl") and timeout <= 10
