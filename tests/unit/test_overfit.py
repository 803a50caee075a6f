"""The overfit gate: the 842,496-parameter model learns 4 KB of repeated text by heart."""

from __future__ import annotations

import asyncio
import math

import pytest

from tabgrad.text.corpus import Corpus
from tabgrad.train.settings import TrainSettings
from tests.unit.runs import trained

LINE = b"The quick brown fox jumps over the lazy dog, 0123456789 times.\n"


def test_the_model_learns_repeated_text_by_heart(tmp_path):
    corpus = Corpus.from_bytes("fox", (LINE * 70)[:4096])
    settings = TrainSettings.for_preset(
        "byte-tinygpt", per_device_train_batch_size=2, max_steps=260, learning_rate=2e-3,
        warmup_steps=20, weight_decay=0.0, eval_steps=260, save_steps=260, sample_steps=260)
    run = asyncio.run(trained(tmp_path, settings, "overfit", corpus=corpus))
    assert run.losses[1] == pytest.approx(math.log(256), abs=0.05)
    last = [run.losses[step] for step in range(251, 261)]
    assert max(last) < 0.02, last
    validation = run.named("validation")
    assert validation[0]["point"]["loss"] == pytest.approx(math.log(256), abs=0.05)
    assert validation[-1]["point"]["loss"] < 0.02
    assert LINE.decode().strip() in run.named("sample")[-1]["sample"]["text"]
