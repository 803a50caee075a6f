"""What the place that runs the application brings: built-in texts, and whether files stay."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Protocol

from tabgrad.app.catalogue import Entry
from tabgrad.errors import DataError
from tabgrad.text.corpus import Corpus


class Host(Protocol):
    """The tab, or CPython."""

    def corpora(self) -> list[dict[str, Any]]:
        """The built-in texts (the `Corpus` of protocol.json), without fetching them."""

    async def fetch(self, sha256: str) -> bytes:
        """The bytes of a built-in text."""

    def models(self) -> list[Entry]:
        """Models that lie beside the page."""

    async def persistent(self) -> bool:
        """Whether what is stored stays until the user deletes it."""


class FolderHost:
    """CPython: the texts are files of a folder, and files stay.

    Args:
        folder: holds `*.txt`; None offers no text.
    """

    def __init__(self, folder: Path | None = None) -> None:
        paths = sorted(folder.glob("*.txt")) if folder is not None else []
        self._corpora = {corpus.sha256: corpus for corpus in (
            Corpus.from_bytes(path.stem, path.read_bytes(), builtin=True) for path in paths)}

    def corpora(self) -> list[dict[str, Any]]:
        """Their descriptions."""
        return [corpus.describe() for corpus in self._corpora.values()]

    async def fetch(self, sha256: str) -> bytes:
        """The bytes of one."""
        return self._corpora[sha256].data.tobytes()

    def models(self) -> list[Entry]:
        """None: natively a model is a folder of the disk."""
        return []

    async def persistent(self) -> bool:
        """Files of a disk stay."""
        return True


async def builtin_corpus(host: Host, sha256: str) -> Corpus | None:
    """Fetches a built-in text and checks it; None when no built-in text has that checksum.

    Raises:
        DataError: what was fetched is another text.
    """
    described = next((each for each in host.corpora() if each["sha256"] == sha256), None)
    if described is None:
        return None
    data = await host.fetch(sha256)
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise DataError(f"{described['name']} arrived damaged.", expected=sha256, received=found,
                        remedy="Reload the page and try again.", control="corpus")
    return Corpus.from_bytes(str(described["name"]), data, builtin=True)
