"""Bundles: folders of files named by what is in them, so that an address never goes stale."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tools.shell import digest

HASH_LETTERS = 12


def content_hash(files: dict[str, bytes], salt: str = "") -> str:
    """A short hash of all names and contents, and of `salt`."""
    parts = [salt.encode()]
    for path in sorted(files):
        parts += [path.encode(), files[path]]
    return digest(*parts)[:HASH_LETTERS]


@dataclass(frozen=True)
class Bundle:
    """Files that are published together.

    Args:
        name: first part of the logical names of its files; empty for the site's own files.
        title: first part of the folder's name.
        hash: last part of the folder's name.
        files: path inside the bundle -> content.
    """

    name: str
    title: str
    hash: str
    files: dict[str, bytes]

    @classmethod
    def of(cls, name: str, title: str, files: dict[str, bytes]) -> Bundle:
        """A bundle named by its own content."""
        return cls(name, title, content_hash(files), files)

    @property
    def folder(self) -> str:
        return f"{self.title}-{self.hash}"

    def logical(self, path: str) -> str:
        return f"{self.name}/{path}" if self.name else path

    def entries(self) -> dict[str, dict[str, object]]:
        """What files.json says: logical name -> address, size and checksum."""
        return {
            self.logical(path): {
                "url": f"{self.folder}/{path}", "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            for path, content in sorted(self.files.items())
        }

    def write(self, site: Path) -> None:
        """Writes what is not there yet: the folder's name says what is in it."""
        for path, content in self.files.items():
            target = site / self.folder / path
            if target.exists() and target.stat().st_size == len(content):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(target.name + ".part")
            unfinished.write_bytes(content)
            unfinished.replace(target)
