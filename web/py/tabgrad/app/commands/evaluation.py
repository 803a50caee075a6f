"""Task sets, `evaluate`, and the kept evaluations: list, delete, compare, export."""

from __future__ import annotations

import json
import time
from typing import Any

from tabgrad.app.application import Application, Request
from tabgrad.app.commands.adapters import bring
from tabgrad.app.evaluating import Watch, find_tasks, measure, model_of, prepare
from tabgrad.app.models import loads_again
from tabgrad.errors import SettingsError
from tabgrad.evaluate.compare import compare
from tabgrad.evaluate.plain import to_plain
from tabgrad.evaluate.report import TITLES, Evaluation
from tabgrad.gpu.device import Device

FORMS = {"json": "json", "markdown": "md"}


async def evaluate(app: Application, request: Request) -> dict[str, Any]:
    """Measures a model and keeps the result; `abort` ends it, and so does a new text.

    One at a time: a new one ends the one before and waits until it has let go.
    """
    fields = request.fields
    job = await prepare(app, fields)
    await app.end_evaluation()
    if app.writing is not None:
        app.writing.stopped = True
    watch = app.evaluating = Watch(app=app, id=request.id)
    name, adapter = fields["model"], fields.get("adapter")
    try:
        with loads_again():
            async with model_of(app, name, job.context_length) as model:
                if adapter is not None:
                    await bring(app, model, adapter)
                watch("Preparing", 0, 1)
                score, rates = await measure(job, model, adapter, watch)
                device = _device_line(model.decoder.device)
    finally:
        app.evaluating = None
        watch.ended.set()
    title = _title(job.kind, job.subject.name, await _shown(app, name), adapter)
    evaluation = Evaluation(await app.evaluations.free_name(title), title, name, adapter,
                            time.time(), job.kind, job.subject, device, score, rates)
    await app.evaluations.save(evaluation)
    return {"evaluation": evaluation.to_json()}


async def read_tasks(app: Application, request: Request) -> dict[str, Any]:
    """What is in a task set, and which of its lines cannot be used."""
    found = await find_tasks(app, request.fields["tasks"])
    return {"name": found.name, "sha256": found.sha256, "items": len(found.items),
            "clozes": sum(one.cloze for one in found.items),
            "bad_lines": to_plain(found.bad_lines), "bad_count": found.bad_count}


async def evaluations(app: Application, request: Request) -> dict[str, Any]:
    """All that are kept, the newest first."""
    return {"evaluations": await _all(app)}


async def delete_evaluation(app: Application, request: Request) -> dict[str, Any]:
    """Forgets one."""
    await app.evaluations.delete(request.fields["evaluation"])
    return {"evaluations": await _all(app)}


async def compare_evaluations(app: Application, request: Request) -> dict[str, Any]:
    """Two kept ones side by side, and the items that only one got right."""
    first, second = [await app.evaluations.open(request.fields[which])
                     for which in ("first", "second")]
    found = compare(first, second)
    return {"table": to_plain(found), "markdown": found.to_markdown()}


async def export_evaluation(app: Application, request: Request) -> dict[str, Any]:
    """One as a file: complete as JSON, or readable as Markdown."""
    form = request.fields["form"]
    if form not in FORMS:
        raise SettingsError("There is no such form.", expected=", ".join(FORMS),
                            received=repr(form)[:80])
    evaluation = await app.evaluations.open(request.fields["evaluation"])
    text = evaluation.to_markdown() if form == "markdown" else json.dumps(
        evaluation.to_json(), indent=1, ensure_ascii=False) + "\n"
    return {"name": f"{evaluation.evaluation}.{FORMS[form]}", "data": text.encode()}


async def _all(app: Application) -> list[dict[str, Any]]:
    return [one.to_json() for one in await app.evaluations.list()]


async def _shown(app: Application, model: str) -> str:
    """What a person calls a model; a run has only its name."""
    return next((one.title for one in await app.models.list() if one.name == model), model)


def _title(kind: str, subject: str, model: str, adapter: str | None) -> str:
    return f"{TITLES[kind]}: {subject}, {model}{f' with {adapter}' if adapter else ''}"


def _device_line(device: Device) -> str:
    info = device.info
    parts = (info.runtime, info.vendor, info.architecture, info.name)
    return " ".join(dict.fromkeys(part for part in parts if part))
