"""Runs as the page sees them, and the record of a run in run.json."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from tabgrad.checkpoint.folder import read_folder
from tabgrad.checkpoint.stored import Loaded, StoredRun
from tabgrad.errors import CheckpointError
from tabgrad.models.decoder import parameter_count
from tabgrad.train.history import History
from tabgrad.train.settings import TrainSettings


def new_record(settings: TrainSettings, corpus: Mapping[str, Any]) -> dict[str, Any]:
    """Content of run.json for a new run.

    Args:
        settings: of the run.
        corpus: the `Corpus` of protocol.json.
    """
    return {"preset": settings.preset, "parameters": parameter_count(settings.recipe),
            "settings": settings.to_dict(), "corpus": dict(corpus), "created_at": time.time()}


def run_message(run: StoredRun) -> dict[str, Any]:
    """The `Run` of protocol.json.

    Raises:
        CheckpointError: run.json lacks a field.
    """
    record, summary = run.record, run.summary
    try:
        settings = record["settings"]
        step = summary.step if summary else 0
        return {
            "run": run.run, "preset": record["preset"], "parameters": record["parameters"],
            "step": step, "max_steps": settings["max_steps"],
            "loss": summary.loss if summary else None,
            "validation_loss": summary.validation_loss if summary else None,
            "saved_at": summary.saved_at if summary else record["created_at"],
            "bytes": run.bytes, "corpus": record["corpus"], "settings": settings,
            "complete": step >= settings["max_steps"]}
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"run.json of {run.run} lacks a field.",
                              received=str(error)) from error


def settings_of(record: Mapping[str, Any]) -> TrainSettings:
    """The settings in run.json.

    Raises:
        CheckpointError: there are none.
        SettingsError: one is out of its range.
    """
    values = record.get("settings")
    if not isinstance(values, Mapping):
        raise CheckpointError("run.json has no settings.")
    return TrainSettings.from_dict(values)


def validate_import(record: Mapping[str, Any], loaded: Loaded) -> dict[str, Any]:
    """The record to keep of an imported run, once all of it is known to fit together.

    Raises:
        CheckpointError: settings, model, moments and history do not agree.
        SettingsError: a setting is out of its range.
    """
    settings = settings_of(record)
    checkpoint = read_folder(loaded.files)
    if checkpoint.recipe != settings.recipe:
        raise CheckpointError("The model in this zip is not of the preset that it names.",
                              expected=str(settings.recipe), received=str(checkpoint.recipe))
    History.from_dict(checkpoint.state.get("history", {}))
    step = checkpoint.state.get("step")
    if step != loaded.summary.step:
        raise CheckpointError("state.json is of another step than its manifest.",
                              expected=str(loaded.summary.step), received=repr(step))
    kept = new_record(settings, {})
    created = record.get("created_at")
    return {**kept, "created_at": created} if isinstance(created, float) else kept
