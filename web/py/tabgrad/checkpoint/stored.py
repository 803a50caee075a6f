"""What a store gives back: a run as a list shows it, and a checkpoint that was read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tabgrad.checkpoint.manifest import Summary
from tabgrad.errors import StorageError
from tabgrad.platform import Files


class RunBusy(StorageError):
    """Another tab or process writes this run."""

    code = "busy"


@asynccontextmanager
async def sole_writer(files: Files, folder: str) -> AsyncIterator[str]:
    """The folder, with this as its only writer.

    Raises:
        RunBusy: another tab or process is.
    """
    lock = await files.lock(folder)
    if lock is None:
        raise RunBusy(f"Another tab is working on {folder.rpartition('/')[2]}.",
                      remedy="Wait, or close that tab.")
    try:
        yield folder
    finally:
        lock.release()


@dataclass(frozen=True)
class StoredRun:
    """A run as a list shows it.

    Args:
        run: its name.
        record: the content of run.json.
        summary: of the newest checkpoint; None before the first one.
        bytes: length of all its checkpoints.
    """

    run: str
    record: dict[str, Any]
    summary: Summary | None
    bytes: int


@dataclass(frozen=True)
class Loaded:
    """A checkpoint that was read and whose checksums are right."""

    summary: Summary
    files: dict[str, bytes]
