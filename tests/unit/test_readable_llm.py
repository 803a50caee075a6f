"""readable-llm: our Trainer teaches it its one answer; Transformers gives the same."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, MixtralForCausalLM

import tabgrad
from tabgrad.app.reader import Reader
from tabgrad.errors import DataError, SettingsError
from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import Decoder, parameter_count
from tabgrad.models.preset_text import preset_text
from tabgrad.models.recipe import preset
from tabgrad.models.state import from_files
from tabgrad.tensor import Tensor
from tabgrad.text.corpus import Corpus
from tabgrad.train.reading import check_corpus
from tabgrad.train.settings import TrainSettings
from tests.unit.runs import Run, trained

NAME = "readable-llm"
TEXT = preset_text(NAME)
PROMPT, ANSWER = "What is 1+1?", " It's 2."


async def taught(folder: Path, device: Device, **changes: int) -> Run:
    return await trained(folder, TrainSettings.for_preset(NAME, **changes), "one-question",
                         device=device, corpus=TEXT.corpus)


def test_its_size() -> None:
    assert parameter_count(preset(NAME)) == 4596


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_learns_its_answer(device: Device, tmp_path: Path, seed: int) -> None:
    async def scenario() -> None:
        run = await taught(tmp_path, device, seed=seed)
        assert run.losses[1] == pytest.approx(math.log(12), abs=0.1)
        assert sorted(run.losses) == list(range(1, 102)) and run.losses[101] < 0.03
        samples = [fields["sample"] for fields in run.named("sample")]
        assert [sample["step"] for sample in samples] == [0, 20, 40, 60, 80, 100, 101]
        assert samples[-1]["text"] == ANSWER != samples[0]["text"]
        assert not run.named("validation") and not run.named("notice")
        reader = await Reader.open(device, run.store, "one-question", None)
        pieces = [piece async for piece in reader.generator.text(PROMPT, temperature=0.0)]
        assert "".join(piece.text for piece in pieces) == ANSWER
        assert sum(piece.tokens for piece in pieces) == 4
        with pytest.raises(DataError) as refused:
            await anext(reader.generator.text("What is 3?"))
        assert refused.value.control == "prompt"
        with pytest.raises(SettingsError, match="words"):
            await anext(reader.generator.generate(b"What"))
    asyncio.run(scenario())


def test_other_libraries_and_the_loader_give_its_answer(device: Device, tmp_path: Path) -> None:
    asyncio.run(taught(tmp_path, device))
    folder = tmp_path / "runs" / "one-question" / "step-101"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model, report = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert isinstance(model, MixtralForCausalLM) and not any(report.values())
    inputs = tokenizer(PROMPT, return_tensors="pt", return_token_type_ids=False)
    assert inputs["input_ids"].tolist() == [[3, 4, 5, 6, 7, 8]]
    ids = np.random.default_rng(0).integers(0, 12, (2, 32))
    use_device(device)
    decoder = Decoder(preset(NAME), trainable=False)
    decoder.arena.write(decoder.arena.weights, from_files(
        preset(NAME), load_file(folder / "model.safetensors")))
    logits = decoder(Tensor.from_numpy(ids.astype(np.uint32))).numpy()
    with torch.no_grad():
        assert np.abs(logits - model(torch.tensor(ids)).logits.numpy()).max() <= 2e-4
        out = model.generate(**inputs, max_new_tokens=20)
    assert out[0].tolist() == [3, 4, 5, 6, 7, 8, 9, 10, 11, 2]
    assert tokenizer.decode(out[0], skip_special_tokens=True) == PROMPT + ANSWER

    async def ours() -> str:
        lm = await tabgrad.load(str(folder))
        text = "".join([piece async for piece in lm.generate(PROMPT)])
        assert lm.finish_reason == "stop"
        await lm.close()
        return text
    assert asyncio.run(ours()) == ANSWER


def test_a_text_with_other_words_cannot_be_learned() -> None:
    settings = TrainSettings.for_preset(NAME)
    with pytest.raises(DataError, match="12 words") as refused:
        check_corpus(settings, Corpus.from_bytes("t", b"What is love? Baby don't hurt me."))
    assert refused.value.control == "corpus"
    with pytest.raises(DataError, match="10 tokens"):
        check_corpus(settings, Corpus.from_bytes("t", b"What is 1+1?"))


def test_a_run_goes_on_with_the_same_bits(device: Device, tmp_path: Path) -> None:
    async def scenario() -> None:
        whole = await taught(tmp_path / "whole", device, max_steps=30)
        half = await taught(tmp_path / "half", device, max_steps=13)
        rest = await trained(tmp_path / "half", TrainSettings.for_preset(NAME, max_steps=30),
                             "one-question", device=device, corpus=TEXT.corpus)
        assert {**half.losses, **rest.losses} == whole.losses
    asyncio.run(scenario())
