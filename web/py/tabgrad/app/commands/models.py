"""Models: what there is, what a download would be, getting, keeping, deleting and loading one."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from tabgrad.app.application import Application, Request
from tabgrad.app.bases import open_to_write
from tabgrad.app.catalogue import catalogue
from tabgrad.app.models import describe_facts, describe_model, list_models, loads_again
from tabgrad.app.reader import Loading
from tabgrad.app.selftest import stoppable
from tabgrad.checkpoint.hub import Source, resolve
from tabgrad.checkpoint.models import ModelProgress
from tabgrad.errors import ProtocolError, TabgradError
from tabgrad.generate.language_model import DEFAULT_NEW_TOKENS, LanguageModel
from tabgrad.gpu.device import use_device
from tabgrad.platform.transfer import Cancel


async def models(app: Application, request: Request) -> dict[str, Any]:
    """What the page offers, what is here, and how much room it takes."""
    used, quota = await app.files.usage()
    return {"catalogue": catalogue(app.host.models(), await app.models.list()),
            "models": await list_models(app.models), "used": used, "quota": quota,
            "persistent": await app.host.persistent()}


async def model_facts(app: Application, request: Request) -> dict[str, Any]:
    """What a person should know before a download; only small files are fetched.

    `headers` are sent to the host, such as an access token, and never stored.
    """
    source = _source(app, request)
    facts = await source.facts(request.fields.get("headers"))
    used, quota = await app.files.usage()
    app.facts = (source.address, facts)
    return {"facts": describe_facts(source, facts, None if quota is None else quota - used)}


async def download_model(app: Application, request: Request) -> dict[str, Any]:
    """Gets a model, or goes on with a download that was cut off.

    `headers` are sent to the host, such as an access token, and never stored.
    """
    source = _source(app, request)
    known = app.facts[1] if app.facts is not None and app.facts[0] == source.address else None
    cancel = _begin(app)
    try:
        record = await app.models.download(source, _teller(app, request), cancel, facts=known,
                                           headers=request.fields.get("headers"))
    finally:
        app.transfer = None
    return {"model": await describe_model(app.models, record)}


async def cancel_download(app: Application, request: Request) -> dict[str, Any]:
    """Ends the download under way; what has come is kept."""
    if app.transfer is not None:
        app.transfer.cancel()
    return {}


async def add_model(app: Application, request: Request) -> dict[str, Any]:
    """Takes in files that were dropped on the page."""
    cancel = _begin(app)
    sizes = {one["name"]: one["size"] for one in request.fields["files"]}
    tell, total, done = _teller(app, request), sum(sizes.values()), dict.fromkeys(sizes, 0)

    def progress(file: str, file_done: int, file_total: int) -> None:
        done[file] = file_done
        tell(ModelProgress(file, file_done, file_total, sum(done.values()), total, None))

    try:
        record = await app.models.adopt(request.fields["title"], request.files, progress, cancel)
    finally:
        app.transfer = None
    return {"model": await describe_model(app.models, record)}


async def delete_model(app: Application, request: Request) -> dict[str, Any]:
    """Deletes a model, or what came of a download."""
    name = request.fields["model"]
    if name in (app.language_model and app.language_model.name,
                app.loading and app.loading.model):
        await _unload(app)
    await app.models.delete(name)
    return {"models": await list_models(app.models)}


async def keep_model(app: Application, request: Request) -> dict[str, Any]:
    """Notes whether the person wants a model to stay."""
    await app.models.keep(request.fields["model"], request.fields["keep"])
    return {"models": await list_models(app.models)}


async def load_model(app: Application, request: Request) -> dict[str, Any]:
    """Puts a model on the GPU and makes it ready to write; the one before goes.

    `unload_model` ends it while weights come.
    """
    device = await app.working_device()
    stored, described = await open_to_write(app, request.fields["model"])
    loading = Loading(request.fields["model"])
    await _unload(app, loading)
    loading.go_on()
    use_device(device)

    def weights(done: int, total: int) -> None:
        loading.go_on()
        app.stage("weights", done, total, "bytes")

    try:
        with loads_again(), stoppable(loading.go_on):
            loaded = await LanguageModel.open(
                device, stored, request.fields.get("context_length"), weights=weights,
                kernels=lambda done, total: app.stage("kernels", done, total, "kernels"))
    except TabgradError:
        loading.go_on()  # its files may have gone because it was stopped
        raise
    if loading.stopped:
        await loaded.close()
    loading.go_on()
    app.language_model = loaded
    return {"model": described,
            "context_length": loaded.context_length,
            "gpu_bytes": device.gpu.counters()["bytes"],
            "dispatches": loaded.session.plan.dispatches,
            "layers": loaded.decoder.recipe.num_hidden_layers,
            "defaults": _defaults(loaded)}


async def unload_model(app: Application, request: Request) -> dict[str, Any]:
    """Gives the model's GPU memory back, or ends the loading under way."""
    await _unload(app)
    return {}


def _source(app: Application, request: Request) -> Source:
    """Where a model comes from; one that lies beside the page has its plain name."""
    source = resolve(request.fields["source"])
    titles = {entry.source: entry.title for entry in app.host.models()}
    return replace(source, title=titles.get(source.address, source.title))


def _defaults(model: LanguageModel) -> dict[str, Any]:
    """The `ChatSettings` that hold where nothing else is asked for."""
    usual = asdict(model.sampling())
    return {"max_new_tokens": DEFAULT_NEW_TOKENS, **{name: usual[name] for name in (
        "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "frequency_penalty",
        "presence_penalty", "seed")}}


async def _unload(app: Application, instead: Loading | None = None) -> None:
    """Ends what uses a model, and the model; `instead` is the loading that comes next."""
    if app.loading is not None:
        app.loading.stopped = True
    app.loading = instead
    await app.end_evaluation()
    if app.writing is not None:
        app.writing.stopped = True
    if app.language_model is not None:
        await app.language_model.close()
        app.language_model = None


def _begin(app: Application) -> Cancel:
    if app.transfer is not None:
        raise ProtocolError("A model is coming already.", expected="one download at a time",
                            received="two", remedy="Wait for it, or cancel it.")
    app.transfer = Cancel()
    return app.transfer


def _teller(app: Application, request: Request) -> Any:
    """Sends each moment of a transfer to the page."""
    def tell(moment: ModelProgress) -> None:
        app.emit("transfer", {
            "id": request.id, "file": moment.file, "file_done": moment.file_done,
            "file_bytes": moment.file_total, "done": moment.done, "bytes": moment.total,
            "seconds_left": moment.seconds_left})
    return tell
