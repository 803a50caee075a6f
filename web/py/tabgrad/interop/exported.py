"""An exported run as a folder of the disk: read it, and write the next one."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tabgrad.checkpoint.archive import pack
from tabgrad.checkpoint.folder import Checkpoint, State, read_folder, write_folder
from tabgrad.checkpoint.manifest import MANIFEST, Manifest, Summary
from tabgrad.checkpoint.transfer import CORPUS, RUN
from tabgrad.errors import CheckpointError, DataError, SettingsError
from tabgrad.text.corpus import Corpus
from tabgrad.text.json_object import parse_json
from tabgrad.train.history import History
from tabgrad.train.settings import TrainSettings

ADAMW = "adamw"


@dataclass(frozen=True)
class Exported:
    """A run that was taken out of the tab.

    Args:
        checkpoint: weights, moments and state.
        settings: of the run.
        record: run.json.
        history: the curve so far.
        text_files: tokenizer.json and the like.
    """

    checkpoint: Checkpoint
    settings: TrainSettings
    record: Mapping[str, Any]
    history: History
    text_files: Mapping[str, bytes]

    @property
    def step(self) -> int:
        """Optimiser steps done."""
        return int(self.checkpoint.state["step"])


def read_exported(folder: Path) -> Exported:
    """Reads what `build.py train --out` or the page's export wrote.

    Raises:
        CheckpointError: not such a folder, a damaged file, or an adapter without its base.
        SettingsError: a run of another optimiser than AdamW.
    """
    if not (folder / MANIFEST).is_file():
        raise CheckpointError(f"{folder} is not an exported run.", expected=f"a file {MANIFEST}",
                              remedy="Export a run in the tab and unpack the zip.")
    manifest = Manifest.decode((folder / MANIFEST).read_bytes())
    files = {}
    for name in manifest.files:
        files[name] = (folder / Path(name).name).read_bytes()
        manifest.verify(name, files[name])
    if "adapter_config.json" in files:
        raise CheckpointError("This run holds only an adapter.",
                              expected="a run whose whole model was trained",
                              remedy="Open the folder in peft: it is a PEFT adapter as it is.")
    checkpoint = read_folder(files)
    settings = TrainSettings.from_dict(checkpoint.state.get("settings", {}))
    if settings.optim != ADAMW:
        raise SettingsError("Only runs of AdamW go on in PyTorch.", control="optim",
                            expected=ADAMW, received=settings.optim)
    record = parse_json((folder / RUN).read_bytes(), RUN)
    history = History.from_dict(checkpoint.state.get("history", {}))
    known = {"model.safetensors", "optimizer.safetensors", "config.json", "state.json"}
    texts = {name: data for name, data in files.items() if name not in known}
    return Exported(checkpoint, settings, record, history, texts)


def read_text(exported: Exported, path: Path, other: bool) -> Corpus:
    """The text of a run.

    Args:
        exported: the run.
        path: of the file.
        other: whether another text than the run's is welcome.

    Raises:
        DataError: it is another text, or no text.
    """
    corpus = Corpus.from_bytes(path.name, path.read_bytes())
    expected = str(exported.record.get("corpus", {}).get("sha256"))
    if corpus.sha256 != expected and not other:
        raise DataError(f"{path.name} is not the text of this run.", expected=f"sha256 {expected}",
                        received=corpus.sha256,
                        remedy="Give the run's corpus.txt, or add --other-text.")
    return corpus


def write_exported(exported: Exported, corpus: Corpus, step: int, tensors: Mapping[str, State],
                   folder: Path) -> Path:
    """Writes a folder, and beside it the same as a .zip that the tab imports.

    Args:
        exported: the run as it was; its history goes on.
        corpus: the text that it was trained on.
        step: optimiser steps done.
        tensors: "weights", "first_moment" and "second_moment", under our names.
        folder: where to; made if need be.

    Returns:
        the .zip.
    """
    settings, history = exported.settings, exported.history
    state = {**exported.checkpoint.state, "step": step, "settings": settings.to_dict(),
             "data_cursor": step * settings.gradient_accumulation_steps,
             "tokens": step * settings.tokens_per_step, "history": history.to_dict()}
    checkpoint = replace(exported.checkpoint, weights=tensors["weights"],
                         first_moment=tensors["first_moment"],
                         second_moment=tensors["second_moment"], state=state,
                         text_files=exported.text_files)
    files = {name: b"".join(pieces) for name, pieces in write_folder(checkpoint).items()}
    summary = Summary(step, time.time(), history.last_loss, history.last_validation)
    record = {**exported.record, "corpus": corpus.describe(), "settings": settings.to_dict()}
    whole = {RUN: json.dumps(record, indent=1).encode(), **files, CORPUS: corpus.data.tobytes(),
             MANIFEST: Manifest.of(summary, files).encode()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in whole.items():  # the manifest is the last one
        (folder / name).write_bytes(data)
    archive = folder.with_name(folder.name + ".zip")
    archive.write_bytes(pack(folder.name, whole))
    return archive
