"""Runs on disk: `runs/<run>/run.json` and `runs/<run>/step-<n>/` with a manifest each.

The order of writes is what keeps a run safe. A step folder is filled and flushed first; its
manifest is moved into place last, and only then does the checkpoint exist. When an old one goes,
its manifest goes first. So whatever moment the tab dies at, the run opens at a complete step.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tabgrad.checkpoint.manifest import (
    MANIFEST,
    FileRecord,
    Hashed,
    Manifest,
    Summary,
    read_json,
    write_json,
)
from tabgrad.checkpoint.names import check_name, new_name
from tabgrad.checkpoint.stored import Loaded, RunBusy, StoredRun
from tabgrad.errors import CheckpointError, StorageError
from tabgrad.platform import Files, Lock

Notice = Callable[[str, str], None]

KEPT = 3
_STEP_FOLDER = re.compile(r"step-(\d{1,12})")
_VERSION = 1


def warn(code: str, message: str) -> None:
    """The notice used where nobody gave another: a Python warning."""
    warnings.warn(f"{code}: {message}", stacklevel=3)


class RunStore:
    """All runs of a folder. One writer a run; any number of readers.

    Args:
        files: the folder of the application.
        notice: called with (code, message) when something was found and mended.
    """

    def __init__(self, files: Files, notice: Notice = warn) -> None:
        self.files = files
        self.notice = notice
        self._locks: dict[str, Lock] = {}

    async def list_runs(self) -> list[StoredRun]:
        """Every run, newest first. A run whose run.json cannot be read gives a notice."""
        runs = []
        for entry in await self.files.list("runs"):
            if not await self.files.exists(f"runs/{entry.name}/run.json"):
                continue
            try:
                runs.append(await self.find(entry.name))
            except CheckpointError as error:
                self.notice("run-unreadable", f"{entry.name} cannot be read: {error}")
        return sorted(runs, key=lambda run: -_time(run))

    async def find(self, run: str) -> StoredRun:
        """One run.

        Raises:
            StorageError: there is none of this name.
            CheckpointError: its run.json cannot be read.
        """
        path = _run_path(run)
        if not await self.files.exists(path + "/run.json"):
            raise StorageError(f"There is no run named {run} here.", control="runs")
        record = await read_json(self.files, path + "/run.json")
        if record.get("version") != _VERSION:
            raise CheckpointError("This run was written by another version.",
                                  expected=f"version {_VERSION}",
                                  received=f"version {record.get('version')}")
        manifests = await self._manifests(run)
        newest = manifests[max(manifests)].summary if manifests else None
        return StoredRun(run, record, newest, sum(each.total_bytes for each in manifests.values()))

    async def create(self, record: Mapping[str, Any], name: str | None = None) -> str:
        """Makes a run and opens it for writing.

        Args:
            record: JSON-able content of run.json.
            name: its name; None picks one.
        Returns:
            the name.
        """
        run = name if name is not None else new_name(await self.names())
        await self.claim(run)
        await self.update(run, record)
        return run

    async def names(self) -> list[str]:
        """Names in use, also by folders that are not a run yet."""
        return [entry.name for entry in await self.files.list("runs")]

    async def update(self, run: str, record: Mapping[str, Any]) -> None:
        """Replaces run.json; the run must be open."""
        self._must_be_open(run)
        await write_json(self.files, _run_path(run) + "/run.json",
                         {**record, "version": _VERSION, "run": run})

    async def open(self, run: str) -> StoredRun:
        """Makes this the writer of a run, and removes what a killed writer left behind.

        Raises:
            RunBusy: another tab or process is.
        """
        await self._lock(run)
        try:
            found = await self.find(run)
            manifests = await self._manifests(run)
            for entry in await self.files.list(_run_path(run)):
                match = _STEP_FOLDER.fullmatch(entry.name)
                if match and int(match[1]) not in manifests:
                    await self._remove_step(run, int(match[1]))
        except BaseException:
            self.close(run)
            raise
        return found

    def close(self, run: str) -> None:
        """Lets others write the run. A run that is not open is fine."""
        lock = self._locks.pop(run, None)
        if lock is not None:
            lock.release()

    def is_open(self, run: str) -> bool:
        """Whether this store is the writer of the run."""
        return run in self._locks

    async def save(self, run: str, summary: Summary,
                   files: Mapping[str, Iterable[bytes]]) -> Manifest:
        """Writes a checkpoint, then removes those that need not be kept.

        A step that is already complete is left as it is: training is deterministic, so it
        would be written with the same bits.

        Args:
            run: an open run.
            summary: goes into the manifest.
            files: flat file name -> its pieces.
        Raises:
            StorageError: the files cannot be written; older checkpoints are untouched.
        """
        self._must_be_open(run)
        folder = _step_path(run, summary.step)
        known = (await self._manifests(run)).get(summary.step)
        if known is not None:
            return known
        records: dict[str, FileRecord] = {}
        for name, pieces in files.items():
            hashed = Hashed(pieces)
            await self.files.write(f"{folder}/{name}", hashed)
            records[name] = hashed.record()
        manifest = Manifest(summary, records)
        await self.files.write(f"{folder}/manifest.tmp", [manifest.encode()])
        await self.files.replace(f"{folder}/manifest.tmp", f"{folder}/{MANIFEST}")
        await self._prune(run)
        return manifest

    async def load(self, run: str, step: int | None = None) -> Loaded | None:
        """Reads the newest complete checkpoint, or that of one step.

        Lengths and checksums of all files are verified. When the newest is broken the one before
        it is taken, with a notice; a writer also removes the broken one.

        Returns:
            None when the run has no checkpoint yet.
        Raises:
            CheckpointError: there are checkpoints, and none can be read.
        """
        manifests = await self._manifests(run)
        steps = sorted(manifests, reverse=True) if step is None else [step]
        if step is not None and step not in manifests:
            raise CheckpointError(f"{run} has no complete checkpoint of step {step}.")
        for number in steps:
            try:
                return await self._read(run, manifests[number])
            except (CheckpointError, StorageError) as error:
                if number == steps[-1]:
                    raise CheckpointError(f"No checkpoint of {run} can be read.",
                                          received=str(error),
                                          remedy="Train it again from the start.") from error
                self.notice("checkpoint-broken", f"The checkpoint of {run} at step {number} "
                            f"is broken ({error}) The one before it is used.")
                if self.is_open(run):
                    await self._remove_step(run, number)
        return None

    async def delete(self, run: str) -> None:
        """Removes a run with all its checkpoints.

        Raises:
            RunBusy: another tab or process writes it.
        """
        already_open = self.is_open(run)
        if not already_open:
            await self._lock(run)
        try:
            await self.files.remove(_run_path(run) + "/run.json")
            await self.files.remove(_run_path(run))
        finally:
            self.close(run)

    async def sweep(self) -> None:
        """Removes folders that never became a run: left by a tab that died while importing."""
        for entry in await self.files.list("runs"):
            path = _run_path(entry.name)
            if await self.files.exists(path + "/run.json"):
                continue
            lock = await self.files.lock(_lock_name(entry.name))
            if lock is None:
                continue
            try:
                if not await self.files.exists(path + "/run.json"):
                    await self.files.remove(path)
            finally:
                lock.release()

    async def steps(self, run: str) -> list[int]:
        """Steps of the complete checkpoints, ascending."""
        return sorted(await self._manifests(run))

    async def claim(self, run: str) -> None:
        """Locks a free name and empties its folder; it is a run after the first `update`."""
        await self._lock(run)
        try:
            if await self.files.exists(_run_path(run) + "/run.json"):
                raise StorageError(f"There is already a run named {run}.", control="runs")
            await self.files.remove(_run_path(run))
        except BaseException:
            self.close(run)
            raise

    async def _manifests(self, run: str) -> dict[int, Manifest]:
        found = {}
        for entry in await self.files.list(_run_path(run)):
            match = _STEP_FOLDER.fullmatch(entry.name)
            if not match:
                continue
            path = f"{_run_path(run)}/{entry.name}/{MANIFEST}"
            if not await self.files.exists(path):
                continue
            try:
                manifest = Manifest.decode(await self.files.read(path))
            except CheckpointError as error:
                self.notice("checkpoint-broken",
                            f"The checkpoint of {run} at {entry.name} is broken ({error})")
                continue
            except StorageError:
                # The writer may have removed it since the listing; anything else is an error.
                if await self.files.exists(path):
                    raise
                continue
            if manifest.summary.step == int(match[1]):
                found[manifest.summary.step] = manifest
        return found

    async def _read(self, run: str, manifest: Manifest) -> Loaded:
        folder = _step_path(run, manifest.summary.step)
        sizes = {entry.name: entry.size for entry in await self.files.list(folder)}
        for name, record in manifest.files.items():
            if sizes.get(name) != record.bytes:
                raise CheckpointError(f"{name} is not complete.", received=str(sizes.get(name)),
                                      expected=f"{record.bytes} bytes")
        files = {}
        for name in manifest.files:
            files[name] = await self.files.read(f"{folder}/{name}")
            manifest.verify(name, files[name])
        return Loaded(manifest.summary, files)

    async def _prune(self, run: str) -> None:
        manifests = await self._manifests(run)
        keep = set(sorted(manifests)[-KEPT:])
        measured = {step: manifest.summary.validation_loss
                    for step, manifest in manifests.items()}
        scores = {step: loss for step, loss in measured.items() if loss is not None}
        if scores:
            keep.add(min(scores, key=lambda step: (scores[step], step)))
        for step in set(manifests) - keep:
            await self._remove_step(run, step)

    async def _remove_step(self, run: str, step: int) -> None:
        await self.files.remove(f"{_step_path(run, step)}/{MANIFEST}")
        await self.files.remove(_step_path(run, step))

    async def _lock(self, run: str) -> None:
        if self.is_open(run):
            return
        lock = await self.files.lock(_lock_name(check_name(run)))
        if lock is None:
            raise RunBusy(f"{run} is open in another tab or program.", control="runs",
                          remedy="Close it there, then try again.")
        self._locks[run] = lock

    def _must_be_open(self, run: str) -> None:
        if not self.is_open(run):
            raise StorageError(f"{run} is not open for writing.")


def _run_path(run: str) -> str:
    return f"runs/{check_name(run)}"


def _step_path(run: str, step: int) -> str:
    return f"{_run_path(run)}/step-{step}"


def _lock_name(run: str) -> str:
    return f"run-{run}"


def _time(run: StoredRun) -> float:
    return run.summary.saved_at if run.summary else float(run.record.get("created_at", 0.0))
