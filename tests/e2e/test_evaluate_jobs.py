"""`build.py evaluate` keeps its contract: in Chromium, a model and a `peft` adapter are measured as
Transformers and `peft` measure them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from tabgrad.evaluate.tasks import BUILT_IN
from tests import real_models
from tests.e2e.test_jobs import build
from tools.launch import TASK_SETS

CLOSE = 1e-3
KEYS = {"done", "model", "adapter_name", "adapter", "evaluations"}
ITEMS = [("The old man and the old", " woman"), ("She opened the door and went", " out"),
         ("He was not able to", " speak"), ("In the morning the sun", " rose")]
LINES = "".join(json.dumps({"context": context, "cloze": cloze}) + "\n"
                for context, cloze in ITEMS)


def adapted(folder: Path) -> Any:
    """glass-en with an adapter that changes it, which is saved in `folder`."""
    torch.manual_seed(0)
    base = AutoModelForCausalLM.from_pretrained(real_models.glass_en(), dtype=torch.float32)
    model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"]))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 0.05)
    model.save_pretrained(folder)
    return model.eval()


def logprob(model: Any, encode: Any, context: str, cloze: str) -> float:
    whole, first = encode(context + cloze), len(encode(context))
    with torch.no_grad():
        table = model(torch.tensor([whole])).logits[0].double().log_softmax(-1)
    return math.fsum(float(table[at - 1, whole[at]]) for at in range(first, len(whole)))


def test_a_model_and_its_adapter_in_chromium(tmp_path: Path) -> None:
    folder = real_models.glass_en()
    model = adapted(tmp_path / "adapter")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    (tmp_path / "mine.jsonl").write_text(LINES)
    done = build("evaluate", "--model", folder, "--adapter", tmp_path / "adapter",
                 "--tasks", tmp_path / "mine.jsonl", "--conditions", tmp_path / "mine.jsonl",
                 "--retrieve", tmp_path / "mine.jsonl", "--shots", "1", "--context", "64",
                 "--runtime", "browser", "--json", tmp_path / "result.json")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert set(result) == KEYS and result["done"] is True and result["adapter_name"] == "adapter"
    tasks, sides = result["evaluations"]
    assert all(one["title"] in done.stdout for one in (tasks, sides))

    def wanted(items: list[tuple[str, str]]) -> list[float]:
        return [logprob(model, lambda text: tokenizer.encode(text, add_special_tokens=False), *one)
                for one in items]
    found = [one["logprobs"][0] for one in tasks["result"]["score"]["items"]]
    np.testing.assert_allclose(found, wanted(ITEMS), atol=CLOSE, rtol=0)
    assert tasks["result"]["speed"]["kilobytes_per_second"] > 0
    by_name = {one["name"]: one for one in sides["result"]["score"]["conditions"]}
    assert list(by_name) == ["base", "few-shot", "adapter", "adapter + retrieval"]
    found = [one["logprob"] for one in by_name["adapter"]["answers"]]
    np.testing.assert_allclose(found, wanted(ITEMS[1:]), atol=CLOSE, rtol=0)
    with model.disable_adapter():
        found = [one["logprob"] for one in by_name["base"]["answers"]]
        np.testing.assert_allclose(found, wanted(ITEMS[1:]), atol=CLOSE, rtol=0)
    assert all(one["speed"]["first_token_ms"] > 0 for one in by_name.values())


@pytest.mark.parametrize(("words", "said"), [
    ((), "--text"), (("--tasks", "nowhere"), "nowhere"),
    (("--tasks", "endings", "--adapter", "."), "adapter_config.json")])
def test_what_is_missing_is_told_in_one_line(words: tuple[str, ...], said: str) -> None:
    assert set(TASK_SETS) == set(BUILT_IN)
    done = build("evaluate", "--model", real_models.glass_en(), *words)
    assert done.returncode == 1 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert said in line
