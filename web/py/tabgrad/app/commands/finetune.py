"""Fine-tuning: `read_data`, `finetune_defaults`, `estimate_finetune`, `finetune`."""

from __future__ import annotations

from typing import Any

from tabgrad.app.application import Application, Request
from tabgrad.app.bases import base_again, open_base
from tabgrad.app.commands.training import start_run
from tabgrad.app.corpora import find_corpus
from tabgrad.app.estimate import matmul_gflops
from tabgrad.app.finetune import data_facts, default_settings, estimate_run, target_names
from tabgrad.app.preparing import check_rows, prepare_finetune
from tabgrad.app.preparing import read_data as read_rows
from tabgrad.app.runs import finetune_record, is_finetune
from tabgrad.checkpoint.stored import StoredRun
from tabgrad.errors import SettingsError
from tabgrad.train.base import BaseName
from tabgrad.train.finetune_settings import FineTuneSettings


async def read_data(app: Application, request: Request) -> dict[str, Any]:
    """What a file of training data holds, and rows of it exactly as the model will see them."""
    settings = FineTuneSettings.from_dict(request.fields["settings"])
    base = await open_base(app, request.fields["model"])
    data = await read_rows(app, settings, base, request.fields["corpus"])
    return {"facts": data_facts(data, settings, max(0, request.fields["preview_rows"]))}


async def finetune_defaults(app: Application, request: Request) -> dict[str, Any]:
    """Settings that suit a model here, and what of it can have an adapter."""
    base = await open_base(app, request.fields["model"])
    device = await app.working_device()
    return {"settings": default_settings(base.recipe, device).to_dict(),
            "targets": target_names(base.recipe), "chat": base.tokenizer.has_template,
            "context_length": base.recipe.max_position_embeddings}


async def estimate_finetune(app: Application, request: Request) -> dict[str, Any]:
    """Memory from the run's own recording, time from one measured product, and what would fit."""
    fields = request.fields
    settings = FineTuneSettings.from_dict(fields["settings"])
    base = await open_base(app, fields["model"])
    check_rows(settings, base.recipe)
    device = await app.working_device()
    if app.matmul_gflops is None:
        app.matmul_gflops = await matmul_gflops(device)
    return estimate_run(settings, base, device, app.matmul_gflops, fields.get("limit_bytes"))


async def finetune(app: Application, request: Request) -> dict[str, Any]:
    """Starts a fine-tune, or goes on with a stored one under new settings."""
    fields = request.fields
    settings = FineTuneSettings.from_dict(fields["settings"])
    run, skip = fields.get("run"), fields["skip_bad_lines"]
    if run is None:
        base = await open_base(app, fields["model"])
    else:
        found = await app.store.find(run)
        _check_same_model(found, fields["model"])
        base = await base_again(app, BaseName.from_dict(found.record.get("base")),
                                None if settings.is_lora else run)
    corpus = await find_corpus(app, fields["corpus"])
    prepared = await prepare_finetune(app, settings, base, corpus.sha256, skip)
    record = finetune_record(settings, base, corpus.describe(), skip)
    return await start_run(app, record, prepared, run)


def _check_same_model(found: StoredRun, model: str) -> None:
    if not is_finetune(found.record) or found.record["base"]["model"] != model:
        raise SettingsError(f"{found.run} is no fine-tune of {model}.", control="finetune-base",
                            expected=str(found.record.get("preset")), received=model)
