"""Adapters as the page sees them: those that were added, and the newest of each fine-tune."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tabgrad.app.application import Application
from tabgrad.app.runs import finetune_settings_of, is_finetune
from tabgrad.checkpoint.stored import StoredRun
from tabgrad.errors import CheckpointError, TabgradError
from tabgrad.lora import files as adapter_files
from tabgrad.lora.config import LoraConfig
from tabgrad.lora.names import State
from tabgrad.lora.store import AdapterRecord

RUN = "run:"
"""The adapter of a run is called by the run's name behind this."""


@dataclass(frozen=True)
class Opened:
    """An adapter, read.

    Args:
        model: name of the model that it was made for.
        config: its settings.
        state: its tensors by PEFT's names.
    """

    model: str
    config: LoraConfig
    state: State


def run_of(adapter: str) -> str | None:
    """The run whose adapter this is; None for one that was added.

    Example:
        >>> run_of("run:quiet-otter"), run_of("poems")
        ('quiet-otter', None)
    """
    return adapter.removeprefix(RUN) if adapter.startswith(RUN) else None


async def list_adapters(app: Application, model: str | None) -> list[dict[str, Any]]:
    """The `Adapter`s of protocol.json, the newest first."""
    found = [describe(record) for record in await app.adapters.list()]
    for run in await app.store.list_runs():
        if is_finetune(run.record) and run.summary is not None:
            try:
                described = _describe_run(run)
            except (TabgradError, KeyError, TypeError) as error:
                app.notice("run-unreadable", f"{run.run} cannot be read: {error}")
                continue
            if described is not None:
                found.append(described)
    kept = [one for one in found if model is None or one["model"] == model]
    return sorted(kept, key=lambda one: -float(one["added_at"]))


def describe(record: AdapterRecord) -> dict[str, Any]:
    """The `Adapter` of one that was added."""
    return {"adapter": record.name, "title": record.title, "model": record.model,
            "run": record.run, "step": record.step, "r": record.r,
            "lora_alpha": record.lora_alpha, "target_modules": list(record.target_modules),
            "parameters": record.parameters, "bytes": record.bytes, "added_at": record.added}


def _describe_run(run: StoredRun) -> dict[str, Any] | None:
    """The `Adapter` of a fine-tune's newest checkpoint; None where it has none."""
    settings, summary = finetune_settings_of(run.record), run.summary
    if not settings.is_lora or summary is None:
        return None
    lora = settings.to_dict()["lora"]
    return {"adapter": f"{RUN}{run.run}", "title": f"{run.run}, step {summary.step}",
            "model": run.record["base"]["model"], "run": run.run, "step": summary.step,
            "r": lora["r"], "lora_alpha": lora["lora_alpha"],
            "target_modules": lora["target_modules"],
            "parameters": run.record["trained_parameters"], "bytes": run.bytes,
            "added_at": summary.saved_at}


async def open_adapter(app: Application, adapter: str) -> Opened:
    """Reads an adapter.

    Raises:
        StorageError: there is none of this name.
        CheckpointError: it cannot be read, or the run has none.
    """
    run = run_of(adapter)
    if run is None:
        stored = await app.adapters.open(adapter)
        return Opened(stored.record.model, stored.config, stored.state)
    found = await app.store.find(run)
    loaded = await app.store.load(run)
    if loaded is None or not is_finetune(found.record):
        raise CheckpointError(f"{run} has no adapter yet.", control="adapter",
                              remedy="Wait until its first checkpoint is saved.")
    config, state = adapter_files.read(loaded.files)
    return Opened(str(found.record["base"]["model"]), config, state)
