"""`model.json`: the last file of a model's folder, which makes the model exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from tabgrad.checkpoint.manifest import FileRecord, read_json, write_json
from tabgrad.errors import CheckpointError
from tabgrad.platform import Files
from tabgrad.platform.transfer import Downloaded

RECORD = "model.json"
DROPPED = "dropped"
"""The source of a model that came from the computer."""
_VERSION = 1


@dataclass(frozen=True)
class ModelRecord:
    """A model that is here, whole.

    Args:
        name: of its folder.
        title: what a person calls it.
        source: address of the folder it came from, or `DROPPED`.
        revision: the commit, where it came from a hub.
        licence: as the model card says; None where it does not.
        added: seconds since 1970.
        kept: whether the person wants it to stay.
        files: name -> length and SHA-256.
    """

    name: str
    title: str
    source: str
    revision: str | None
    licence: str | None
    added: float
    kept: bool
    files: dict[str, FileRecord]

    @property
    def bytes(self) -> int:
        """Length of all files."""
        return sum(file.bytes for file in self.files.values())

    def with_kept(self, kept: bool) -> ModelRecord:
        """The same with another wish."""
        return replace(self, kept=kept)


def file_record(downloaded: Downloaded) -> FileRecord:
    """What model.json says of a file."""
    return FileRecord(downloaded.size, downloaded.sha256)


async def write_record(files: Files, path: str, record: ModelRecord) -> None:
    """Writes `model.json` into the folder `path`: from then on the model is there."""
    await write_json(files, f"{path}/{RECORD}", {"version": _VERSION, **asdict(record)})


async def read_record(files: Files, path: str) -> ModelRecord:
    """Reads `model.json` of the folder `path`.

    Raises:
        CheckpointError: it is not a record of this version.
    """
    table = await read_json(files, f"{path}/{RECORD}")
    try:
        if table.pop("version") != _VERSION:
            raise CheckpointError(f"{path}/{RECORD} was written by another version.")
        return ModelRecord(**{**table, "files": file_records(table["files"])})
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}/{RECORD} has wrong fields.", received=str(error)) from error


def file_records(table: Mapping[str, Any]) -> dict[str, FileRecord]:
    """Name -> FileRecord, from JSON."""
    return {str(name): FileRecord(**row) for name, row in table.items()}
