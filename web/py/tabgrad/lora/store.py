"""The adapters of this computer: added from files or from a run, opened, deleted.

An adapter's two files lie at `adapters/<name>/`; `adapter.json`, which says what it is, is written
last, so what was cut off in the middle is no adapter.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tabgrad.checkpoint.hub import plain_name
from tabgrad.checkpoint.manifest import FileRecord, Hashed, read_json, write_json
from tabgrad.checkpoint.names import free_name
from tabgrad.checkpoint.stored import sole_writer
from tabgrad.errors import CheckpointError, StorageError
from tabgrad.lora.config import LoraConfig
from tabgrad.lora.config_fields import CONFIG
from tabgrad.lora.files import WEIGHTS, read, write
from tabgrad.lora.names import State, module_of
from tabgrad.platform import Files
from tabgrad.platform.files_protocol import split_path

ADAPTERS = "adapters"
RECORD = "adapter.json"
_VERSION = 1


@dataclass(frozen=True)
class AdapterRecord:
    """An adapter that is here, whole.

    Args:
        name: of its folder.
        title: what a person calls it.
        model: name of the model that it was made for.
        run: the run that trained it; None where it came as files.
        step: optimiser steps that it was trained for; None likewise.
        r: its rank, where no pattern says otherwise.
        lora_alpha: likewise.
        target_modules: last parts of the names of its modules.
        parameters: numbers in its matrices.
        added: seconds since 1970.
        files: name -> length and SHA-256.
    """

    name: str
    title: str
    model: str
    run: str | None
    step: int | None
    r: int
    lora_alpha: float
    target_modules: tuple[str, ...]
    parameters: int
    added: float
    files: dict[str, FileRecord]

    @property
    def bytes(self) -> int:
        """Length of all files."""
        return sum(file.bytes for file in self.files.values())


@dataclass(frozen=True)
class StoredAdapter:
    """An adapter that was opened: its record, settings, and tensors by PEFT's names."""

    record: AdapterRecord
    config: LoraConfig
    state: State


class AdapterStore:
    """All adapters under `adapters/`.

    Args:
        files: the folder of the application.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    async def list(self) -> list[AdapterRecord]:
        """The adapters that are here, whole; the newest first."""
        found = []
        for entry in await self._files.list(ADAPTERS):
            if entry.is_folder and await self._files.exists(f"{_folder(entry.name)}/{RECORD}"):
                try:
                    found.append(await self._record(entry.name))
                except CheckpointError:
                    continue  # damaged: it can only be deleted
        return sorted(found, key=lambda record: record.added, reverse=True)

    async def add(self, title: str, model: str, files: Mapping[str, bytes], *,
                  run: str | None = None, step: int | None = None) -> AdapterRecord:
        """Takes in an adapter.

        Args:
            title: what a person calls it.
            model: name of the model that it is for. Whether it fits is seen when both are opened.
            files: path -> bytes, as PEFT saves them; see `lora.files.read`.
            run: the run that trained it.
            step: optimiser steps that it was trained for.

        Raises:
            CheckpointError: they are no adapter that can be used here.
            StorageError: no room.
        """
        config, state = read(files)
        taken = {entry.name for entry in await self._files.list(ADAPTERS)}
        name = free_name(plain_name(title), taken)
        async with sole_writer(self._files, _folder(name)) as folder:
            try:
                records = {}
                for file, pieces in write(state, config, model).items():
                    hashed = Hashed(pieces)
                    await self._files.write(f"{folder}/{file}", hashed)
                    records[file] = hashed.record()
                record = AdapterRecord(
                    name, title, model, run, step, config.r, float(config.lora_alpha),
                    tuple(sorted({module_of(one).rpartition(".")[2] for one in state})),
                    sum(array.size for array in state.values()), time.time(), records)
                await write_json(self._files, f"{folder}/{RECORD}",
                                 {"version": _VERSION, **asdict(record)})
            except StorageError:
                await self._files.remove(folder)
                raise
        return record

    async def open(self, name: str) -> StoredAdapter:
        """Reads an adapter.

        Raises:
            StorageError: there is no such adapter.
            CheckpointError: a file is not what it was when it came.
        """
        folder = _folder(name)
        if not await self._files.exists(f"{folder}/{RECORD}"):
            raise StorageError(f"There is no adapter {name} here.", remedy="Add it first.")
        record = await self._record(name)
        found = {}
        for file, expected in record.files.items():
            found[file] = await self._files.read(f"{folder}/{file}")
            if len(found[file]) != expected.bytes or _sha256(found[file]) != expected.sha256:
                raise CheckpointError(f"{file} of the adapter {name} is damaged.",
                                      remedy="Delete the adapter and add it again.")
        config, state = read(found)
        return StoredAdapter(record, config, state)

    async def delete(self, name: str) -> None:
        """Deletes an adapter. Raises `RunBusy` while it is written."""
        async with sole_writer(self._files, _folder(name)) as folder:
            # First what makes it an adapter, so that it is never half of one.
            await self._files.remove(f"{folder}/{RECORD}")
            await self._files.remove(folder)

    async def _record(self, name: str) -> AdapterRecord:
        path = f"{_folder(name)}/{RECORD}"
        table = await read_json(self._files, path)
        try:
            if table.pop("version") != _VERSION:
                raise CheckpointError(f"{path} was written by another version.")
            return _record_of(table)
        except (KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{path} has wrong fields.", received=str(error)) from error


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _record_of(table: dict[str, Any]) -> AdapterRecord:
    files = {str(name): FileRecord(**row) for name, row in table["files"].items()}
    if set(files) != {CONFIG, WEIGHTS}:
        raise TypeError(f"files {sorted(files)}")
    return AdapterRecord(**{**table, "files": files,
                            "target_modules": tuple(map(str, table["target_modules"]))})


def _folder(name: str) -> str:
    if len(split_path(name)) != 1:
        raise StorageError("This is not the name of an adapter.", received=repr(name[:100]))
    return f"{ADAPTERS}/{name}"
