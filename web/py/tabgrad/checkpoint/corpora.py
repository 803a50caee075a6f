"""The texts that runs train on, stored once each under their checksum."""

from __future__ import annotations

import hashlib
from typing import Any

from tabgrad.checkpoint.manifest import read_json, write_json
from tabgrad.errors import CheckpointError, StorageError
from tabgrad.platform import Files
from tabgrad.text.corpus import Corpus

_FOLDER = "corpora"


class CorpusStore:
    """`corpora/<sha256>` holds a text, `corpora/<sha256>.json` its description.

    Args:
        files: the folder of the application.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    async def add(self, corpus: Corpus) -> None:
        """Stores a text, if it is not there yet.

        The description is written last, so a text without one is not listed.
        """
        path = _path(corpus.sha256)
        if await self._files.exists(path + ".json"):
            return
        await self._files.write(path, [corpus.data.tobytes()])
        await write_json(self._files, path + ".json", corpus.describe())

    async def has(self, sha256: str) -> bool:
        """Whether a text is stored.

        Raises:
            CheckpointError: this is no checksum.
        """
        return await self._files.exists(_path(sha256) + ".json")

    async def load(self, sha256: str) -> Corpus:
        """Reads a text and checks its checksum.

        Raises:
            StorageError: it is not stored here.
            CheckpointError: the stored bytes are not the text any more.
        """
        path = _path(sha256)
        if not await self.has(sha256):
            raise StorageError("The text of this run is not stored here.", control="corpus",
                               remedy="Add the text again; it is recognised by its content.")
        table = await read_json(self._files, path + ".json")
        data = await self._files.read(path)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise CheckpointError("The stored text is damaged: its checksum is another one.",
                                  remedy="Add the text again.", control="corpus")
        return Corpus.from_bytes(str(table.get("name", "text")), data,
                                 bool(table.get("builtin", False)))

    async def list(self) -> list[dict[str, Any]]:
        """Descriptions of all stored texts (the `Corpus` of protocol.json)."""
        entries = await self._files.list(_FOLDER)
        return [await read_json(self._files, f"{_FOLDER}/{entry.name}")
                for entry in entries if entry.name.endswith(".json")]


def _path(sha256: str) -> str:
    if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
        raise CheckpointError("This is not the checksum of a text.", received=repr(sha256[:70]),
                              expected="64 hexadecimal digits", control="corpus")
    return f"{_FOLDER}/{sha256}"
