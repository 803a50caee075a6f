"""Texts and what training on them would cost: `add_corpus`, `estimate`."""

from __future__ import annotations

from typing import Any

from tabgrad.app.application import Application, Request
from tabgrad.app.corpora import preset_corpora
from tabgrad.app.estimate import estimate_run, matmul_gflops
from tabgrad.models.preset_text import preset_text
from tabgrad.models.recipe import PRESETS
from tabgrad.text.corpus import Corpus, check_length
from tabgrad.train.settings import TrainSettings


async def add_corpus(app: Application, request: Request) -> dict[str, Any]:
    """Checks a text and stores it in this browser."""
    data: bytes = request.fields["text"]
    if not data:
        check_length(0, TrainSettings().context_length)
    corpus = Corpus.from_bytes(request.fields["title"] or "text", data)
    if corpus.sha256 not in preset_corpora():
        check_length(len(corpus), min(recipe.max_position_embeddings
                                      for name, recipe in PRESETS.items()
                                      if preset_text(name) is None))
    await app.corpora.add(corpus)
    return {"corpus": corpus.describe()}


async def estimate(app: Application, request: Request) -> dict[str, Any]:
    """Memory from the run's own recording, time from one measured product."""
    settings = TrainSettings.from_dict(request.fields["settings"])
    device = await app.working_device()
    if app.matmul_gflops is None:
        app.matmul_gflops = await matmul_gflops(device)
    return estimate_run(settings, device, app.matmul_gflops)
