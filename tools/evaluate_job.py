"""`build.py evaluate`: a model, with or without an adapter, is measured; see docs/evaluation.md."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tabgrad.checkpoint.archive import pack
from tabgrad.evaluate.metrics import Metric
from tabgrad.evaluate.tasks import BUILT_IN
from tools.folder_server import FolderServer
from tools.job_output import adapter as device_line
from tools.model_job import is_model
from tools.session import Session

ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
KINDS = ("text", "tasks", "conditions", "memorisation")


async def evaluate(options: argparse.Namespace, session: Session,
                   boot: dict[str, Any]) -> dict[str, Any]:
    """Measures what the command line asks for, prints a table of each, and returns all.

    Returns:
        {"done": true, "model", "adapter_name", "adapter", "evaluations": [Evaluation, ...]}, where
        `adapter` is the GPU's, as in the results of the other jobs.
    """
    model = await _model(options, session)
    chosen = None if options.adapter is None else await _adapter(options, session, model)
    found = []
    for kind in KINDS:
        for source in getattr(options, kind) or []:
            fields = {"model": model, "adapter": chosen, "kind": kind,
                      **await _subject(options, session, kind, source)}
            found.append((await session.command("evaluate", fields))["evaluation"])
            _print(found[-1])
    return {"done": True, "model": model, "adapter_name": chosen,
            "adapter": device_line(boot["device"]), "evaluations": found}


async def _model(options: argparse.Namespace, session: Session) -> str:
    """The name of the model, which is loaded; or of the run that a folder of train --out is."""
    folder = Path(options.model)
    if not is_model(folder):
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())
                 if path.is_file()}
        zipped = pack(folder.resolve().name, files)
        return str((await session.command("import", {"zip": zipped}))["run"]["run"])
    with FolderServer(folder) as server:
        model = (await session.command("download_model", {"source": server.url}))["model"]["model"]
    await session.command("load_model", {"model": model, "context_length": options.context})
    return str(model)


async def _adapter(options: argparse.Namespace, session: Session, model: str) -> str:
    folder = Path(options.adapter)
    files = [folder / name for name in ADAPTER_FILES]
    added = await session.command("add_adapter", {"title": folder.resolve().name, "model": model,
                                                  "files": files})
    return str(added["adapter"]["adapter"])


async def _subject(options: argparse.Namespace, session: Session, kind: str,
                   source: str) -> dict[str, Any]:
    """The fields of `evaluate` that say what on, and how."""
    chosen: dict[str, Any] = {"context_length": options.context}
    if kind in ("tasks", "conditions"):
        fields = {"tasks": source if source in BUILT_IN else await _add(session, source)}
        if kind == "conditions":
            chosen |= {"shots": options.shots, "chat": options.chat}
            if options.retrieve is not None:
                fields["corpus"] = await _add(session, options.retrieve)
    else:
        fields = {"corpus": await _add(session, source)}
        if kind == "memorisation":
            chosen |= {"prefixes": options.prefixes, "seed": options.seed}
    return {**fields, "options": {name: value for name, value in chosen.items()
                                  if value is not None}}


async def _add(session: Session, path: str) -> str:
    added = await session.command("add_corpus", {"title": Path(path).name,
                                                 "text": Path(path).read_bytes()})
    return str(added["corpus"]["sha256"])


def _print(evaluation: dict[str, Any]) -> None:
    """The title, and a line for each number."""
    print(evaluation["title"])
    for row in evaluation["result"]["metrics"]:
        value = float("nan") if row["value"] is None else row["value"]
        shown = Metric(row["name"], value, row["unit"], row["better"]).shown
        print(f"  {row['name']:<48} {shown:>12} {row['unit']}".rstrip())
    print(flush=True)
