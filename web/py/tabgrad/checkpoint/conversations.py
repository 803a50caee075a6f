"""Conversations that are kept: one JSON file each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabgrad.checkpoint.manifest import read_json, write_json
from tabgrad.errors import StorageError
from tabgrad.platform import Files

FOLDER = "conversations"
LONGEST_NAME = 100


class ConversationStore:
    """All conversations under `conversations/`.

    Args:
        files: the folder of the application.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    async def list(self) -> list[dict[str, Any]]:
        """All of them, the one written to last first."""
        found = [await read_json(self._files, f"{FOLDER}/{entry.name}")
                 for entry in await self._files.list(FOLDER) if entry.name.endswith(".json")]
        return sorted(found, key=lambda one: -float(one["updated_at"]))

    async def save(self, conversation: Mapping[str, Any]) -> None:
        """Writes one, over what was kept under its name before."""
        await write_json(self._files, _path(conversation["conversation"]), conversation)

    async def delete(self, name: str) -> None:
        """Forgets one; nothing happens where there is none."""
        await self._files.remove(_path(name))


def _path(name: str) -> str:
    plain = 0 < len(name) <= LONGEST_NAME and name.replace("-", "").isalnum() and name.isascii()
    if not plain:
        raise StorageError("This is not the name of a conversation.",
                           expected="letters, digits and hyphens", received=repr(name[:80]))
    return f"{FOLDER}/{name}.json"
