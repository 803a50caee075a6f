"""Export of a run to one .zip, and import of such a file as a new run.

The archive holds the newest checkpoint exactly as it lies in the store (a folder that Transformers
loads once unzipped), `run.json`, and the text that it was trained on as `corpus.txt`, so that
training can go on where it is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tabgrad.checkpoint.archive import pack, unpack
from tabgrad.checkpoint.corpora import CorpusStore
from tabgrad.checkpoint.manifest import MANIFEST, Manifest
from tabgrad.checkpoint.names import check_name, free_name
from tabgrad.checkpoint.store import RunStore
from tabgrad.checkpoint.stored import Loaded
from tabgrad.errors import CheckpointError
from tabgrad.text.corpus import Corpus
from tabgrad.text.json_object import parse_json

RUN = "run.json"
CORPUS = "corpus.txt"

Validate = Callable[[Mapping[str, Any], Loaded], Mapping[str, Any]]


async def export_run(store: RunStore, corpora: CorpusStore, run: str) -> tuple[str, bytes]:
    """The newest checkpoint of a run as one file.

    Returns:
        file name ("quiet-otter-step-1240.zip") and the .zip.
    Raises:
        CheckpointError: the run has no checkpoint, or none that can be read.
    """
    found = await store.find(run)
    loaded = await store.load(run)
    if loaded is None:
        raise CheckpointError(f"{run} has no checkpoint yet.", control="runs",
                              remedy="Train it for a few steps first.")
    corpus = await corpora.load(str(found.record["corpus"]["sha256"]))
    manifest = Manifest.of(loaded.summary, loaded.files)
    files = {RUN: json.dumps(found.record, indent=1).encode(), **loaded.files,
             MANIFEST: manifest.encode(), CORPUS: corpus.data.tobytes()}
    return f"{run}-step-{loaded.summary.step}.zip", pack(run, files)


async def import_run(store: RunStore, corpora: CorpusStore, data: bytes,
                     validate: Validate) -> str:
    """Makes a run of an exported file.

    Everything is checked before anything is written; run.json is written last, so a half
    imported run is none.

    Args:
        data: the .zip.
        validate: called with the run's record and its checkpoint; raises when they make no
            model, else gives the record to keep.
    Returns:
        the name of the new run: the old one, or with a number behind it where that is taken.
    Raises:
        CheckpointError: with what is wrong with the file.
    """
    files = unpack(data)
    for name in (RUN, MANIFEST, CORPUS):
        if name not in files:
            raise CheckpointError("This zip is not a run of tabgrad.", expected=f"a file {name}",
                                  received=", ".join(sorted(files))[:200] or "an empty zip")
    record = parse_json(files.pop(RUN), RUN)
    manifest = Manifest.decode(files.pop(MANIFEST))
    corpus = _corpus(record, files.pop(CORPUS))
    checkpoint = {name: files[name] for name in manifest.files if name in files}
    for name in manifest.files:
        manifest.verify(name, checkpoint.get(name, b""))
    kept = validate(record, Loaded(manifest.summary, checkpoint))
    run = free_name(check_name(str(record.get("run"))), await store.names())
    await store.claim(run)
    try:
        await corpora.add(corpus)
        await store.save(run, manifest.summary,
                         {name: [content] for name, content in checkpoint.items()})
        await store.update(run, {**kept, "corpus": corpus.describe()})
    finally:
        store.close(run)
    return run


def _corpus(record: Mapping[str, Any], data: bytes) -> Corpus:
    described = record.get("corpus")
    if not isinstance(described, dict):
        raise CheckpointError("run.json does not say which text it was trained on.")
    corpus = Corpus.from_bytes(str(described.get("name", "text")), data,
                               bool(described.get("builtin", False)))
    if corpus.sha256 != described.get("sha256"):
        raise CheckpointError("The text in this zip is not the one that the run was trained on.",
                              expected=str(described.get("sha256"))[:64],
                              received=corpus.sha256)
    return corpus
