"""Stored runs: `runs`, `delete`, `export`, `import`."""

from __future__ import annotations

from typing import Any

from tabgrad.app.application import Application, Request
from tabgrad.app.runs import run_message, validate_import
from tabgrad.checkpoint.stored import RunBusy
from tabgrad.checkpoint.transfer import export_run, import_run
from tabgrad.errors import CheckpointError


async def runs(app: Application, request: Request) -> dict[str, Any]:
    """All runs, newest first."""
    return {"runs": await list_runs(app)}


async def delete(app: Application, request: Request) -> dict[str, Any]:
    """Removes a run with all its checkpoints."""
    run: str = request.fields["run"]
    await app.store.find(run)
    if app.store.is_open(run):
        raise RunBusy(f"{run} is in training.", control="runs", remedy="Stop it first.")
    await app.store.delete(run)
    return {"runs": await list_runs(app)}


async def export_(app: Application, request: Request) -> dict[str, Any]:
    """A run as one .zip; a run in training is saved first."""
    run: str = request.fields["run"]
    if app.trainer is not None and app.trainer.run_name == run:
        await app.trainer.save_now()
    name, data = await export_run(app.store, app.corpora, run)
    return {"name": name, "zip": data}


async def import_(app: Application, request: Request) -> dict[str, Any]:
    """Makes a run of an exported .zip."""
    run = await import_run(app.store, app.corpora, request.fields["zip"], validate_import)
    return {"run": run_message(await app.store.find(run))}


async def list_runs(app: Application) -> list[dict[str, Any]]:
    """All runs that can be shown; one that cannot gives a notice."""
    shown = []
    for run in await app.store.list_runs():
        try:
            shown.append(run_message(run))
        except CheckpointError as error:
            app.notice("run-unreadable", f"{run.run} cannot be read: {error}")
    return shown
