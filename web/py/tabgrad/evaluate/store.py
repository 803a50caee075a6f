"""Evaluations that are kept: `evaluations/<name>.json`, one each."""

from __future__ import annotations

from collections.abc import Callable

from tabgrad.checkpoint.hub import plain_name
from tabgrad.checkpoint.manifest import write_json
from tabgrad.checkpoint.names import free_name
from tabgrad.checkpoint.strict_json import parse_object
from tabgrad.errors import CheckpointError, StorageError
from tabgrad.evaluate.report import Evaluation
from tabgrad.platform import Files

FOLDER = "evaluations"
ENDING = ".json"
MOST_BYTES = 2**25


class EvaluationStore:
    """All evaluations under `evaluations/`.

    Args:
        files: the folder of the application.
        notice: told (code, message) of a file that cannot be read; the others can.
    """

    def __init__(self, files: Files, notice: Callable[[str, str], None]) -> None:
        self._files = files
        self._notice = notice

    async def list(self) -> list[Evaluation]:
        """All that can be read, the newest first."""
        found = []
        for entry in await self._files.list(FOLDER):
            if entry.name.endswith(ENDING):
                try:
                    found.append(await self.open(entry.name.removesuffix(ENDING)))
                except (CheckpointError, StorageError):
                    self._notice("evaluation", f"The evaluation {entry.name} cannot be read.")
        return sorted(found, key=lambda one: -one.created_at)

    async def free_name(self, title: str) -> str:
        """A name for a new evaluation that no other has."""
        taken = {entry.name.removesuffix(ENDING) for entry in await self._files.list(FOLDER)}
        return free_name(plain_name(title), taken)

    async def save(self, evaluation: Evaluation) -> None:
        """Keeps one under its name, over what was kept there before."""
        await write_json(self._files, _path(evaluation.evaluation), evaluation.to_json())

    async def open(self, name: str) -> Evaluation:
        """Reads one.

        Raises:
            StorageError: there is none of this name.
            CheckpointError: the file is no evaluation.
        """
        path = _path(name)
        if not await self._files.exists(path):
            raise StorageError(f"There is no evaluation {name} here.", control="evaluations")
        if await self._files.size(path) > MOST_BYTES:
            raise CheckpointError(f"{path} is too long.", expected=f"at most {MOST_BYTES:,} bytes")
        table = parse_object(await self._files.read(path), path, MOST_BYTES)
        evaluation = Evaluation.from_json(table)
        if evaluation.evaluation != name:
            raise CheckpointError(f"{path} is another evaluation.", expected=name,
                                  received=evaluation.evaluation[:80])
        return evaluation

    async def delete(self, name: str) -> None:
        """Forgets one; nothing happens where there is none."""
        await self._files.remove(_path(name))


def _path(name: str) -> str:
    if plain_name(name) != name or name.startswith("."):
        raise StorageError("This is not the name of an evaluation.", received=repr(name[:80]))
    return f"{FOLDER}/{name}{ENDING}"
