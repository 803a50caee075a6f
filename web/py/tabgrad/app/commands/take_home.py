"""`take_home`: a run's model or adapter as one .zip that Transformers and PEFT open."""

from __future__ import annotations

from typing import Any

from tabgrad.app.adapters import run_of
from tabgrad.app.application import Application, Request
from tabgrad.app.bases import base_again
from tabgrad.app.runs import is_finetune
from tabgrad.checkpoint.archive import pack
from tabgrad.errors import CheckpointError
from tabgrad.export import take_home as export
from tabgrad.export.take_home import Taken
from tabgrad.train.base import Base, BaseName


async def take_home(app: Application, request: Request) -> dict[str, Any]:
    """The newest checkpoint; a run in training is saved first."""
    name: str = request.fields["run"]
    if app.trainer is not None and app.trainer.run_name == name:
        await app.trainer.save_now()
    found = await app.store.find(name)
    loaded = await app.store.load(name)
    if loaded is None:
        raise CheckpointError(f"{name} has no checkpoint yet.", control="runs",
                              remedy="Train it for a few steps first.")
    run = Taken(name, found.record, loaded.files, evaluations=[
        one.summary() for one in await app.evaluations.list()
        if name in (one.model, run_of(one.adapter or ""))])
    form: str = request.fields["form"]
    base: Base | None = None
    if run.is_adapter and form != "adapter" and is_finetune(found.record):
        base = await base_again(app, BaseName.from_dict(found.record.get("base")))
    files = await export.take_home(run, form, request.fields["dtype"], base)
    title = f"{name}-step-{loaded.summary.step}-{form}"
    return {"name": f"{title}.zip",
            "zip": pack(title, {name: b"".join(pieces) for name, pieces in files.items()})}
