"""Adapters: `adapters`, `add_adapter`, `delete_adapter`, `use_adapter`."""

from __future__ import annotations

from typing import Any

from tabgrad import platform
from tabgrad.app.adapters import describe, list_adapters, open_adapter, run_of
from tabgrad.app.application import Application, Request
from tabgrad.app.bases import open_base
from tabgrad.app.models import loads_again
from tabgrad.errors import SettingsError
from tabgrad.generate.language_model import LanguageModel
from tabgrad.lora.adapter import Adapter

INCOMING = "incoming-adapter"


async def adapters(app: Application, request: Request) -> dict[str, Any]:
    """Those that were added, and the newest of each fine-tune; of one model, or of all."""
    return {"adapters": await list_adapters(app, request.fields.get("model"))}


async def add_adapter(app: Application, request: Request) -> dict[str, Any]:
    """Takes in PEFT's two files, dropped on the page."""
    model = request.fields["model"]
    await open_base(app, model)
    files = {}
    try:
        for number, (name, source) in enumerate(request.files.items()):
            path = f"{INCOMING}/{number}"
            await platform.current().adopt(app.files, source, path)
            files[name] = await app.files.read(path)
    finally:
        await app.files.remove(INCOMING)
    record = await app.adapters.add(request.fields["title"], model, files)
    return {"adapter": describe(record)}


async def delete_adapter(app: Application, request: Request) -> dict[str, Any]:
    """Deletes one that was added; the one of a run goes with its run."""
    name = request.fields["adapter"]
    run = run_of(name)
    if run is not None:
        raise SettingsError(f"This adapter belongs to the run {run}.", control="adapters",
                            remedy="Delete the run, and it goes with it.")
    if app.language_model is not None and name in app.language_model.adapters:
        await app.language_model.detach(name)
    await app.adapters.delete(name)
    return {"adapters": await list_adapters(app, None)}


async def use_adapter(app: Application, request: Request) -> dict[str, Any]:
    """Switches the loaded model's adapter on, off or to another; the model is not loaded again."""
    name, weight = request.fields.get("adapter"), float(request.fields["weight"])
    model = app.language_model
    if model is None:
        raise SettingsError("No model is loaded.", control="chat-model",
                            remedy="Choose one under Models.")
    await app.end_evaluation()
    if app.writing is not None:
        app.writing.stopped = True
    with loads_again():
        if name is not None:
            await bring(app, model, name)
        model.use(name, weight)
    return {"adapter": model.adapter, "weight": weight if name is not None else 0.0}


async def bring(app: Application, model: LanguageModel, name: str) -> None:
    """Attaches an adapter, or writes what its run has learned since into the attached one."""
    opened = await open_adapter(app, name)
    if opened.model != model.name:
        raise SettingsError(f"This adapter was made for {opened.model}.", control="adapter",
                            expected=opened.model, received=model.name,
                            remedy=f"Load {opened.model}, then switch it on.")
    known = model.adapters.get(name)
    if known is None:
        await model.attach(Adapter.opened(model.decoder, opened.config, opened.state, name=name))
    else:
        known.write(opened.state)
