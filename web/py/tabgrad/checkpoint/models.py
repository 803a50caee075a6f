"""The models of this computer: downloaded or dropped, opened, deleted.

A model's files lie at `models/<name>/<file>`; `model.json` is written last, so what was cut off in
the middle is no model. Until then `download.json` says which files are whole, and a `.part` file
has what came of the one that was on its way.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from tabgrad import platform
from tabgrad.checkpoint.dropped import chosen_files
from tabgrad.checkpoint.facts import Facts
from tabgrad.checkpoint.hub import Source, plain_name
from tabgrad.checkpoint.listing import RemoteFile
from tabgrad.checkpoint.manifest import FileRecord, write_json
from tabgrad.checkpoint.model_progress import ModelProgress, Tracker
from tabgrad.checkpoint.model_record import (
    DROPPED,
    RECORD,
    ModelRecord,
    file_record,
    file_records,
    read_record,
    write_record,
)
from tabgrad.checkpoint.names import free_name
from tabgrad.checkpoint.shards import StoredTensor
from tabgrad.checkpoint.stored import sole_writer
from tabgrad.checkpoint.stored_model import StoredModel, open_folder
from tabgrad.errors import CheckpointError, StorageError, TabgradError
from tabgrad.platform import Files
from tabgrad.platform.files_protocol import split_path
from tabgrad.platform.transfer import Cancel
from tabgrad.text.json_object import parse_json

__all__ = ["ModelProgress", "ModelRecord", "ModelStore", "StoredModel", "StoredTensor",
           "Unfinished", "open_folder"]

Kind = TypeVar("Kind")
MODELS = "models"
WHOLE = "download.json"


@dataclass(frozen=True)
class Unfinished:
    """A download that was cut off.

    Args:
        name: of its folder.
        bytes: of it that are here.
        title: what a person calls it.
        source: where it comes from; None where the cut left no note of it.
        total: bytes of all of it; None where that is not known.
    """

    name: str
    bytes: int
    title: str
    source: str | None
    total: int | None


class ModelStore:
    """All models under `models/`.

    Args:
        files: the folder of the application.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    async def unfinished(self) -> Sequence[Unfinished]:
        """Downloads that were cut off: they take room, and go on when asked for again.

        A folder whose `model.json` is damaged is one of them: it can only be deleted, or come anew.
        """
        rows = []
        for name in await self._names():
            if await self._record(name) is None:
                note = await self._noted(name)
                here = sum(entry.size for entry in await self._files.list(_folder(name))
                           if entry.name not in (RECORD, WHOLE))
                rows.append(Unfinished(name, here, str(note.get("title", name)),
                                       _of_kind(note.get("source"), str),
                                       _of_kind(note.get("bytes"), int)))
        return rows

    async def _record(self, name: str) -> ModelRecord | None:
        """What `model.json` says; None where there is none that can be read."""
        if not await self._files.exists(f"{_folder(name)}/{RECORD}"):
            return None
        try:
            return await read_record(self._files, _folder(name))
        except CheckpointError:
            return None

    async def _noted(self, name: str) -> dict[str, Any]:
        """What `download.json` says; nothing where there is none that can be read."""
        path = f"{_folder(name)}/{WHOLE}"
        if not await self._files.exists(path):
            return {}
        try:
            return parse_json(await self._files.read(path), path)
        except CheckpointError:
            return {}

    async def _names(self) -> Sequence[str]:
        return [entry.name for entry in await self._files.list(MODELS) if entry.is_folder]

    async def open(self, model: str) -> StoredModel:
        """Opens a model; only headers are read.

        Raises:
            StorageError: there is no such model.
            CheckpointError: a file is not what it was when it came.
        """
        folder = _folder(model)
        if not await self._files.exists(f"{folder}/{RECORD}"):
            raise StorageError(f"There is no model {model} here.", remedy="Download it first.")
        record = await read_record(self._files, folder)
        sizes = {entry.name: entry.size for entry in await self._files.list(folder)}
        for name, file in record.files.items():
            if sizes.get(name) != file.bytes:
                raise CheckpointError(f"{name} of {model} is damaged.",
                                      expected=f"{file.bytes} bytes",
                                      received=f"{sizes.get(name, 'no file')}",
                                      remedy="Delete the model and download it again.")
        return await open_folder(self._files, folder, record.name)

    async def find(self, source: Source) -> ModelRecord | None:
        """The model that came from this source, if it is here, whole; nobody is asked."""
        return await self._record(await self._name_for(source))

    async def download(self, source: Source,
                       progress: Callable[[ModelProgress], object] | None = None,
                       cancel: Cancel | None = None, *, facts: Facts | None = None,
                       headers: Mapping[str, str] | None = None) -> ModelRecord:
        """Downloads a model, or goes on with a download that was cut off.

        Args:
            source: from `resolve`.
            progress: called as bytes come.
            cancel: stops it; what has come is kept.
            facts: what `source.facts()` gave, if that was asked before.
            headers: sent along, and never stored.

        Raises:
            DownloadError: what the host did.
            StorageError: no room.
            CheckpointError: it cannot run here, or what came is no model.
            Cancelled: as asked.
        """
        facts = await source.facts(headers) if facts is None else facts
        if facts.problem is not None:
            raise CheckpointError("This model cannot run here.", received=facts.problem)
        name = await self._name_for(source)
        async with self._writing(name) as folder:
            already = await self._reopen(name, facts)
            if already is not None:
                return already
            whole = await self._whole(name, facts)
            missing = [file for file in facts.files if file.name not in whole]
            await self._check_room(folder, missing)
            await self._note(folder, source, facts, whole)
            tracker = Tracker(facts, set(whole), progress)
            for file in missing:
                came = await platform.current().download(
                    self._files, facts.address + file.name, f"{folder}/{file.name}",
                    size=file.size, sha256=file.sha256, progress=tracker.of(file.name),
                    cancel=cancel, headers=headers)
                whole[file.name] = file_record(came)
                tracker.finished(file.name, came.size)
                await self._note(folder, source, facts, whole)
            return await self._finish(folder, ModelRecord(
                name, source.title, source.address, facts.revision, facts.licence, time.time(),
                False, whole))

    async def adopt(self, title: str, dropped: Mapping[str, Any],
                    progress: Callable[[str, int, int], object] | None = None,
                    cancel: Cancel | None = None) -> ModelRecord:
        """Takes in files of the computer.

        Args:
            title: what the person calls the model: the dropped folder's name.
            dropped: path of each file, as dropped -> a path natively, a `File` in the tab. Files
                that no model needs are passed over.
            progress: called with (file, bytes, of bytes).
            cancel: stops it, and leaves nothing.

        Raises:
            CheckpointError: they are no model.
            StorageError: no room, or a file cannot be read.
            Cancelled: as asked.
        """
        chosen = chosen_files(dropped)
        name = free_name(plain_name(title), await self._names())
        async with self._writing(name) as folder:
            records = {}
            try:
                for file, source in chosen.items():
                    came = await platform.current().adopt(
                        self._files, source, f"{folder}/{file}", cancel=cancel,
                        progress=_of_file(progress, file))
                    records[file] = file_record(came)
            except TabgradError:
                await self._files.remove(folder)
                raise
            return await self._finish(folder, ModelRecord(
                name, title, DROPPED, None, None, time.time(), False, records))

    async def delete(self, model: str) -> None:
        """Deletes a model, or what came of a download. Raises `RunBusy` while it is written."""
        async with self._writing(model) as folder:
            # First what makes it a model, so that it is never half of one.
            await self._files.remove(f"{folder}/{RECORD}")
            await self._files.remove(folder)

    async def keep(self, model: str, kept: bool) -> None:
        """Notes whether the person wants the model to stay."""
        async with self._writing(model) as folder:
            record = await read_record(self._files, folder)
            await write_record(self._files, folder, record.with_kept(kept))

    @asynccontextmanager
    async def _writing(self, name: str) -> AsyncIterator[str]:
        """The model's folder, with this as its only writer; one with no file of a model goes."""
        async with sole_writer(self._files, _folder(name)) as folder:
            try:
                yield folder
            finally:
                if all(entry.name == WHOLE for entry in await self._files.list(folder)):
                    await self._files.remove(folder)

    async def _name_for(self, source: Source) -> str:
        """The name of a model's folder: what is from this source keeps its name."""
        taken: set[str] = set()
        while True:
            name = free_name(source.name, taken)
            if await self._origin(name) in (None, source.address):
                return name
            taken.add(name)

    async def _origin(self, name: str) -> str | None:
        """Address of the source that a folder's files came from; None where nothing is."""
        record = await self._record(name)
        return (await self._noted(name)).get("source") if record is None else record.source

    async def _reopen(self, name: str, facts: Facts) -> ModelRecord | None:
        """The model that is here, if it is of this very version; else it becomes a download that
        was cut off, so that only files which changed come again."""
        folder, record = _folder(name), await self._record(name)
        if record is None:
            await self._files.remove(f"{folder}/{RECORD}")
            return None
        try:
            await self.open(name)
            if facts.revision is not None and record.revision == facts.revision:
                return record
        except CheckpointError:
            pass  # damaged: what is missing comes again
        await self._write_note(folder, record.files, title=record.title, source=record.source,
                               address="", bytes=record.bytes)
        await self._files.remove(f"{folder}/{RECORD}")
        return None

    async def _note(self, folder: str, source: Source, facts: Facts,
                    whole: Mapping[str, FileRecord]) -> None:
        await self._write_note(folder, whole, title=source.title, source=source.address,
                               address=facts.address, bytes=facts.bytes)

    async def _write_note(self, folder: str, whole: Mapping[str, FileRecord],
                          **known: str | int) -> None:
        await write_json(self._files, f"{folder}/{WHOLE}", {
            **known, "files": {name: asdict(record) for name, record in whole.items()}})

    async def _whole(self, name: str, facts: Facts) -> dict[str, FileRecord]:
        """Files of this very version that are here already."""
        table = await self._noted(name)
        try:
            known = file_records(table["files"])
        except (KeyError, TypeError, AttributeError):
            return {}
        sizes = {entry.name: entry.size for entry in await self._files.list(_folder(name))}
        same = table.get("address") == facts.address
        return {file.name: record for file in facts.files
                if (record := known.get(file.name)) is not None
                and sizes.get(file.name) == record.bytes and file.size in (None, record.bytes)
                and (same if file.sha256 is None else record.sha256 == file.sha256)}

    async def _check_room(self, folder: str, missing: Sequence[RemoteFile]) -> None:
        used, quota = await self._files.usage()
        here = sum(entry.size for entry in await self._files.list(folder)
                   if entry.name.endswith(".part"))
        need = sum(file.size or 0 for file in missing) - here
        if quota is not None and need > quota - used:
            raise StorageError("There is no room for this model.", expected=f"{need:,} bytes",
                               received=f"{max(0, quota - used):,} bytes free",
                               remedy="Delete a model or a run, or free disk space.")

    async def _finish(self, folder: str, record: ModelRecord) -> ModelRecord:
        """Makes it a model, if it is one; else nothing of it stays."""
        try:
            await open_folder(self._files, folder, record.name)
        except CheckpointError:
            await self._files.remove(folder)
            raise
        await write_record(self._files, folder, record)
        await self._files.remove(f"{folder}/{WHOLE}")
        return record

    async def list(self) -> list[ModelRecord]:
        """The models that are here, whole; the newest first."""
        found = [await self._record(name) for name in await self._names()]
        return sorted(filter(None, found), key=lambda record: record.added, reverse=True)


def _folder(name: str) -> str:
    if len(split_path(name)) != 1:
        raise StorageError("This is not the name of a model.", received=repr(name[:100]))
    return f"{MODELS}/{name}"


def _of_kind(value: Any, kind: type[Kind]) -> Kind | None:
    return value if isinstance(value, kind) else None


def _of_file(progress: Callable[[str, int, int], object] | None,
             file: str) -> Callable[[int, int], None] | None:
    if progress is None:
        return None

    def tell(done: int, total: int) -> None:
        progress(file, done, total)

    return tell
