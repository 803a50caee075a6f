"""Models by name, to be trained further or to write: a stored model, or a run of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabgrad.app.application import Application
from tabgrad.app.models import contents, describe_model
from tabgrad.checkpoint.manifest import MANIFEST, Manifest
from tabgrad.checkpoint.models import ModelRecord, StoredModel, open_folder
from tabgrad.errors import CheckpointError, StorageError
from tabgrad.train.base import Base, BaseName

WEIGHTS = ".safetensors"


async def open_base(app: Application, model: str) -> Base:
    """The stored model of a name, or the newest checkpoint of the run of that name.

    Raises:
        StorageError: there is neither.
        CheckpointError: it cannot be trained further.
    """
    record = await _record(app, model)
    if record is not None:
        return await Base.open(await app.models.open(model), _named(record))
    if model not in await app.store.names():
        raise StorageError(f"There is no model and no run named {model} here.",
                           control="finetune-base", remedy="Get it first, under Models.")
    steps = await app.store.steps(model)
    if not steps:
        raise CheckpointError(f"{model} has no checkpoint yet.", control="finetune-base",
                              remedy="Train it for a few steps first.")
    return await _open_step(app, model, steps[-1])


async def base_again(app: Application, name: BaseName, whole: str | None = None) -> Base:
    """The base that a run began with.

    Args:
        app: the application.
        name: which it is.
        whole: a run that trains every weight: its own checkpoint has all that the base had.

    Raises:
        CheckpointError: it is no longer here, or has other weights now.
    """
    if whole is not None and (steps := await app.store.steps(whole)):
        stored = await open_folder(app.files, f"runs/{whole}/step-{steps[-1]}", whole)
        return await Base.open(stored, name)
    record = await _record(app, name.model)
    if record is not None:
        name.check(_named(record))
        return await Base.open(await app.models.open(name.model), _named(record))
    for step in await app.store.steps(name.model) if name.source is None else []:
        if dict(await _weights(app, name.model, step)) == dict(name.weights):
            return await _open_step(app, name.model, step)
    raise CheckpointError(
        f"The model that this fine-tune began with is no longer here: {name.title}.",
        control="finetune-base", remedy=f"{name.again} The fine-tune itself is kept.")


async def stored_model(app: Application, model: str) -> StoredModel:
    """The files of a stored model, or of the newest checkpoint of a run."""
    return (await open_base(app, model)).model


async def open_to_write(app: Application, model: str) -> tuple[StoredModel, dict[str, Any]]:
    """The files of a stored model, or of a run's newest checkpoint, and how it is described.

    Raises:
        StorageError: there is neither.
        CheckpointError: its files are damaged, or no model.
    """
    record = await _record(app, model)
    if record is not None or model not in await app.store.names():
        stored = await app.models.open(model)
        assert record is not None, "a model that could be opened has a record"
        return stored, await describe_model(app.models, record)
    base, found = await open_base(app, model), await app.store.find(model)
    assert found.summary is not None, "a base has a checkpoint"
    return base.model, {
        "model": model, "title": base.name.title, "bytes": found.bytes, "keep": True,
        "complete": True, "done_bytes": found.bytes, "added_at": found.summary.saved_at,
        **await contents(base.model)}


async def _record(app: Application, model: str) -> ModelRecord | None:
    return next((one for one in await app.models.list() if one.name == model), None)


def _named(record: ModelRecord) -> BaseName:
    return BaseName(record.name, record.title, record.source, {
        name: file.sha256 for name, file in record.files.items() if name.endswith(WEIGHTS)})


async def _open_step(app: Application, run: str, step: int) -> Base:
    found = await app.store.find(run)
    if "adapter_model.safetensors" in await _weights(app, run, step):
        raise CheckpointError(f"{run} is an adapter: it is not trained further as a model.",
                              control="finetune-base",
                              remedy="Choose the model that it was made for.")
    stored = await open_folder(app.files, f"runs/{run}/step-{step}", run)
    return await Base.open(stored, BaseName(found.run, f"{run} at step {step}", None,
                                            await _weights(app, run, step)))


async def _weights(app: Application, run: str, step: int) -> Mapping[str, str]:
    """Files of weights of a checkpoint -> SHA-256; moments are none."""
    manifest = Manifest.decode(await app.files.read(f"runs/{run}/step-{step}/{MANIFEST}"))
    return {name: record.sha256 for name, record in manifest.files.items()
            if name.endswith(WEIGHTS) and not name.startswith("optimizer")}
