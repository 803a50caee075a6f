"""Runs as the page sees them, and the record of a run in run.json."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from tabgrad.checkpoint.folder import read_folder, read_state
from tabgrad.checkpoint.stored import Loaded, StoredRun
from tabgrad.errors import CheckpointError
from tabgrad.lora import files as adapter_files
from tabgrad.models.decoder import parameter_count
from tabgrad.train.base import Base, BaseName
from tabgrad.train.finetune import trained_parameters
from tabgrad.train.finetune_settings import FineTuneSettings
from tabgrad.train.history import History
from tabgrad.train.settings import TrainSettings

FINETUNE = "finetune"


def new_record(settings: TrainSettings, corpus: Mapping[str, Any]) -> dict[str, Any]:
    """Content of run.json for a new run.

    Args:
        settings: of the run.
        corpus: the `Corpus` of protocol.json.
    """
    return {"preset": settings.preset, "parameters": parameter_count(settings.recipe),
            "settings": settings.to_dict(), "corpus": dict(corpus), "created_at": time.time()}


def finetune_record(settings: FineTuneSettings, base: Base, corpus: Mapping[str, Any],
                    skip_bad_lines: bool) -> dict[str, Any]:
    """Content of run.json for a new fine-tune.

    Args:
        settings: of the run.
        base: the model that it begins with.
        corpus: the `Corpus` of protocol.json.
        skip_bad_lines: whether lines that cannot be used are left out.
    """
    return {"kind": FINETUNE, "preset": base.name.model, "base": base.name.to_dict(),
            "parameters": parameter_count(base.recipe),
            "trained_parameters": trained_parameters(settings, base.recipe),
            "settings": settings.to_dict(), "corpus": dict(corpus),
            "skip_bad_lines": skip_bad_lines, "created_at": time.time()}


def is_finetune(record: Mapping[str, Any]) -> bool:
    """Whether a run.json is of a fine-tune.

    Example:
        >>> is_finetune({"kind": "finetune"}), is_finetune({})
        (True, False)
    """
    return record.get("kind") == FINETUNE


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
            "bytes": run.bytes, "corpus": record["corpus"],
            "complete": step >= settings["max_steps"], **_kind_fields(record)}
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"run.json of {run.run} lacks a field.",
                              received=str(error)) from error


def _kind_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    if not is_finetune(record):
        return {"settings": record["settings"]}
    return {"kind": FINETUNE, "base": record["base"]["model"], "finetune": record["settings"],
            "trained_parameters": record["trained_parameters"]}


def finetune_settings_of(record: Mapping[str, Any]) -> FineTuneSettings:
    """The settings in the run.json of a fine-tune.

    Raises:
        CheckpointError: there are none.
        SettingsError: one is out of its range.
    """
    return FineTuneSettings.from_dict(_settings_in(record))


def settings_of(record: Mapping[str, Any]) -> TrainSettings:
    """The settings in run.json.

    Raises:
        CheckpointError: there are none.
        SettingsError: one is out of its range.
    """
    return TrainSettings.from_dict(_settings_in(record))


def _settings_in(record: Mapping[str, Any]) -> Mapping[str, Any]:
    values = record.get("settings")
    if not isinstance(values, Mapping):
        raise CheckpointError("run.json has no settings.")
    return values


def validate_import(record: Mapping[str, Any], loaded: Loaded) -> dict[str, Any]:
    """The record to keep of an imported run, once all of it is known to fit together.

    Raises:
        CheckpointError: settings, model, moments and history do not agree.
        SettingsError: a setting is out of its range.
    """
    state = read_state(loaded.files)
    History.from_dict(state.get("history", {}))
    step = state.get("step")
    if step != loaded.summary.step:
        raise CheckpointError("state.json is of another step than its manifest.",
                              expected=str(loaded.summary.step), received=repr(step))
    kept = (_imported_finetune if is_finetune(record) else _imported)(record, loaded)
    created = record.get("created_at")
    return {**kept, "created_at": created} if isinstance(created, float) else kept


def _imported(record: Mapping[str, Any], loaded: Loaded) -> dict[str, Any]:
    settings = settings_of(record)
    checkpoint = read_folder(loaded.files)
    if checkpoint.recipe != settings.recipe:
        raise CheckpointError("The model in this zip is not of the preset that it names.",
                              expected=str(settings.recipe), received=str(checkpoint.recipe))
    return new_record(settings, {})


def _imported_finetune(record: Mapping[str, Any], loaded: Loaded) -> dict[str, Any]:
    settings = finetune_settings_of(record)
    base = BaseName.from_dict(record.get("base"))
    counts = [record.get(name) for name in ("parameters", "trained_parameters")]
    if not all(type(count) is int and count > 0 for count in counts):
        raise CheckpointError("run.json does not say how large the model is.",
                              received=repr(counts)[:80])
    if settings.is_lora:
        adapter_files.read(loaded.files)
    else:
        read_folder(loaded.files)
    return {"kind": FINETUNE, "preset": base.model, "base": base.to_dict(),
            "parameters": counts[0], "trained_parameters": counts[1],
            "settings": settings.to_dict(), "created_at": time.time(),
            "skip_bad_lines": record.get("skip_bad_lines") is True}
