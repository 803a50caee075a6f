"""The presets: what they are, what they read, that Transformers loads them, that they learn."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tabgrad.app.reader import Reader
from tabgrad.errors import DataError
from tabgrad.gpu.device import open_device
from tabgrad.models.decoder import parameter_count
from tabgrad.models.recipe import FULL, PRESETS, Recipe, preset
from tabgrad.models.rotary import RotaryParameters
from tabgrad.tensor import Tensor
from tabgrad.text.corpus import Corpus
from tabgrad.train.reading import FOLDER, check_corpus
from tabgrad.train.settings import TrainSettings
from tests.helpers import run
from tests.unit.runs import Run, make_run

TEXT = Corpus.from_bytes("market", (Path(__file__).parents[2] / "web" / "corpus"
                                    / "market-street.txt").read_bytes())
SHORT = {"context_length": 16, "per_device_train_batch_size": 1, "max_steps": 2, "save_steps": 1,
         "eval_steps": 2, "sample_steps": 0, "warmup_steps": 0}


@pytest.mark.parametrize(("name", "millions"), [
    ("byte-gpt-5m", 5), ("byte-gpt-15m", 15), ("bpe-gpt-5m", 5), ("bpe-gpt-15m", 15),
    ("llama-5m", 5), ("moe-5m", 5)])
def test_size(name: str, millions: int) -> None:
    assert abs(parameter_count(preset(name)) / (1e6 * millions) - 1) < 0.06


@pytest.mark.parametrize("name", ["llama-5m", "moe-5m"])
def test_a_run_of_two_steps(tmp_path: Path, name: str) -> None:
    """Learns its tokens, trains, goes on from its checkpoint, writes, and opens elsewhere."""
    settings = TrainSettings.for_preset(name, **SHORT)
    first = run(_trained(tmp_path, replace(settings, max_steps=1)))
    again = run(_trained(tmp_path, settings, first.trainer.run_name))
    learns = name == "llama-5m"
    assert bool(first.named("stage") and first.named("stage")[0]["stage"] == "vocabulary") \
        is learns
    assert not any(one["stage"] == "vocabulary" for one in again.named("stage"))
    assert (tmp_path / FOLDER).exists() is learns
    device = run(open_device("webgpu"))
    reader = run(Reader.open(device, again.store, again.trainer.run_name, None))
    assert len(run(_written(reader, "The market"))) > 0
    loaded = run(again.store.load(again.trainer.run_name))
    folder = tmp_path / "folder"
    folder.mkdir()
    for file, data in loaded.files.items():
        (folder / file).write_bytes(data)
    text = "The market opens at six."
    ids = list(text.encode()) if not learns else AutoTokenizer.from_pretrained(folder)(
        text)["input_ids"]
    assert ids == (reader.generator.tokenizer.encode(text) if learns else list(text.encode()))
    with torch.no_grad():
        expected = AutoModelForCausalLM.from_pretrained(folder)(torch.tensor([ids])).logits
    decoder = reader.generator.session.decoder
    found = decoder(Tensor.from_numpy(np.array([ids], np.uint32))).numpy()
    assert np.abs(found - expected.numpy()).max() < 1e-4


async def _trained(folder: Path, settings: TrainSettings, name: str | None = None,
                   corpus: Corpus = TEXT) -> Run:
    made = await make_run(folder, settings, name, corpus=corpus)
    await made.trainer.run()
    return made


async def _written(reader: Reader, prompt: str) -> str:
    stream = reader.generator.text(prompt, max_new_tokens=8, temperature=0.0)
    return "".join([piece.text async for piece in stream])


def relative(name: str) -> Recipe:
    """A small model of the same kind."""
    recipe = PRESETS[name]
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 16,
             "num_key_value_heads": 1, "intermediate_size": 48, "layer_types": (),
             "rotary": ((FULL, RotaryParameters("default", 10_000.0, 16, 32, 32)),),
             "max_position_embeddings": 32, "vocab_size": min(recipe.vocab_size, 290),
             "initializer_range": 0.1}
    experts = recipe.experts and replace(recipe.experts, intermediate_size=48)
    return replace(recipe, **small, experts=experts)


@pytest.mark.parametrize("name", ["llama-5m", "moe-5m"])
def test_a_small_relative_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                 name: str) -> None:
    monkeypatch.setitem(PRESETS, name, relative(name))
    corpus = Corpus.from_bytes("lamp", b"The lamp was lit at dusk, and the boats came home.\n" * 9)
    settings = TrainSettings.for_preset(
        name, per_device_train_batch_size=4, max_steps=60, learning_rate=1e-2, warmup_steps=5,
        eval_steps=0, sample_steps=60, save_steps=60, logging_steps=1)
    learned = run(_trained(tmp_path, settings, corpus=corpus))
    assert learned.losses[1] > 5.4
    assert learned.losses[60] < 0.3
    assert "lit at dusk" in learned.named("sample")[-1]["sample"]["text"]


def test_a_stop_while_tokens_are_learned(tmp_path: Path) -> None:
    words = np.random.default_rng(1).choice(["ab", "cd", "ef", "gh", " "], 60_000)
    corpus = Corpus.from_bytes("noise", "".join(words).encode())

    async def scenario() -> Run:
        made = await make_run(tmp_path, TrainSettings.for_preset("bpe-gpt-5m"), corpus=corpus)
        made.start()
        await made.until(lambda: bool(made.named("stage")))
        assert await made.trainer.stop() == ("idle", 0)
        await made.finish()
        return made

    stopped = asyncio.run(scenario())
    assert {one["stage"] for one in stopped.named("stage")} == {"vocabulary"}
    assert stopped.trainer.problem is None


def test_a_text_that_is_too_short() -> None:
    settings = TrainSettings.for_preset("bpe-gpt-5m")
    with pytest.raises(DataError, match="too short"):
        check_corpus(settings, Corpus.from_bytes("one", b"Too short. " * 20))
