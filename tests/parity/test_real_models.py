"""Real trained weights, natively: the greedy text of 40 tokens is Transformers' own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

import tabgrad
from tabgrad.gpu.device import Device
from tests import real_models
from tests.helpers import run

TOKENS = 40
QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


def expected(path: Path, ids: list[int], tokenizer) -> str:
    """What Transformers writes with the same weights in float32."""
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
    with torch.no_grad():
        text = model.generate(torch.tensor([ids]), do_sample=False, max_new_tokens=TOKENS)
    return tokenizer.decode(text[0, len(ids):].tolist(), skip_special_tokens=True)


@pytest.mark.parametrize(("model", "prompt"), [
    ("glass_en", "Once upon a time"), ("smollm2_135m", "The history of the printing press"),
    ("smollm2_135m", QUESTION)], ids=["glass-en", "smollm2", "smollm2 chat"])
def test_greedy_text(device: Device, model: str, prompt) -> None:
    path = getattr(real_models, model)()

    async def written() -> tuple[str, str]:
        lm = await tabgrad.load(str(path), context_length=256)
        pieces = [piece async for piece in lm.generate(prompt, max_new_tokens=TOKENS,
                                                       temperature=0.0)]
        reference = expected(path, lm.encode(prompt), lm.tokenizer)
        held = device.gpu.counters()["bytes"]
        await lm.close()
        assert held > 1e6 and device.gpu.counters()["bytes"] < held / 2, "its memory is given back"
        return "".join(pieces), reference
    found, reference = run(written())
    assert found == reference
    assert len(found) > 20
