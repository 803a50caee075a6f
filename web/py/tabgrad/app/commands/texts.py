"""Texts and what training on them would cost: `add_corpus`, `estimate`."""

from __future__ import annotations

from typing import Any

from tabgrad.app.application import Application, Request
from tabgrad.app.estimate import estimate_run, matmul_gflops
from tabgrad.app.library import builtin_corpus
from tabgrad.errors import StorageError
from tabgrad.models.preset_text import PRESET_TEXTS, preset_text
from tabgrad.models.recipe import PRESETS
from tabgrad.text.corpus import Corpus, check_length
from tabgrad.train.settings import TrainSettings


async def add_corpus(app: Application, request: Request) -> dict[str, Any]:
    """Checks a text and stores it in this browser."""
    data: bytes = request.fields["text"]
    if not data:
        check_length(0, TrainSettings().context_length)
    corpus = Corpus.from_bytes(request.fields["title"] or "text", data)
    if corpus.sha256 not in _preset_corpora():
        check_length(len(corpus), min(recipe.max_position_embeddings
                                      for name, recipe in PRESETS.items()
                                      if preset_text(name) is None))
    await app.corpora.add(corpus)
    return {"corpus": corpus.describe()}


async def estimate(app: Application, request: Request) -> dict[str, Any]:
    """Parameters, memory and time of a run, from arithmetic and one measured product."""
    settings = TrainSettings.from_dict(request.fields["settings"])
    device = await app.working_device()
    if app.matmul_gflops is None:
        app.matmul_gflops = await matmul_gflops(device)
    return estimate_run(settings, app.matmul_gflops)


async def list_corpora(app: Application) -> list[dict[str, Any]]:
    """Built-in texts first, then those of presets and those that were added; each once."""
    builtin = app.host.corpora() + [one.describe() for one in _preset_corpora().values()]
    known = {each["sha256"] for each in builtin}
    stored = await app.corpora.list()
    return builtin + [each for each in stored
                      if each["sha256"] not in known and not each["builtin"]]


async def find_corpus(app: Application, sha256: str) -> Corpus:
    """A stored text, or a built-in one, which is fetched from our own origin once.

    Raises:
        StorageError: neither stored nor built in.
    """
    if await app.corpora.has(sha256):
        return await app.corpora.load(sha256)
    corpus = _preset_corpora().get(sha256) or await builtin_corpus(app.host, sha256)
    if corpus is None:
        raise StorageError("This text is not stored here.", control="corpus",
                           remedy="Add the text again; it is recognised by its content.")
    await app.corpora.add(corpus)
    return corpus


def _preset_corpora() -> dict[str, Corpus]:
    """The texts that come with presets, by checksum."""
    return {text.corpus.sha256: text.corpus for text in PRESET_TEXTS.values()}
