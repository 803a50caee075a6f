"""Conversations that are kept: one JSON file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tabgrad.checkpoint.manifest import read_json, write_json
from tabgrad.errors import CheckpointError, StorageError
from tabgrad.platform import Files

FOLDER = "conversations"
LONGEST_NAME = 100


class ConversationStore:
    """All conversations under `conversations/`.

    Args:
        files: the folder of the application.
        notice: told (code, message) of a conversation that cannot be read; the others can.
    """

    def __init__(self, files: Files, notice: Callable[[str, str], None]) -> None:
        self._files = files
        self._notice = notice

    async def list(self) -> list[dict[str, Any]]:
        """All that can be read, the one written to last first."""
        found = []
        for entry in await self._files.list(FOLDER):
            if entry.name.endswith(".json"):
                try:
                    one = await read_json(self._files, f"{FOLDER}/{entry.name}")
                    found.append((float(one["updated_at"]), one))
                except (CheckpointError, KeyError, TypeError, ValueError):
                    self._notice("conversation", f"The conversation {entry.name} cannot be read.")
        return [one for _, one in sorted(found, key=lambda pair: -pair[0])]

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
