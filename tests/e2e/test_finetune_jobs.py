"""`build.py finetune` keeps its contract: lines, result, and folders that others open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests import real_models
from tests.e2e.test_jobs import build

STEPS, PROMPT, NEW = 6, "The old man", 8
TEXTS = "".join(json.dumps({"text": f"The old man of house {i} sat by the window and slept."})
                + "\n" for i in range(60))
KEYS = {"done", "params", "trained_params", "first_loss", "last_loss", "val_loss_before",
        "val_loss", "answers", "adapter", "checkpoint", "peak_bytes"}


def finetune(folder: Path, *more: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The lines of a short job on glass-en, and its last one."""
    (folder / "old.jsonl").write_text(TEXTS)
    done = build("finetune", "--model", real_models.glass_en(), "--data", folder / "old.jsonl",
                 "--out", folder / "out", "--json", folder / "result.json", "--steps", str(STEPS),
                 "--batch", "2", "--context", "64", "--learning-rate", "0.01", "--prompt", PROMPT,
                 "--max-new-tokens", str(NEW), *more)
    assert done.returncode == 0, done.stderr
    *log, last = (json.loads(line) for line in done.stdout.splitlines())
    assert json.loads((folder / "result.json").read_text()) == {**last, "log": log}
    assert [line["step"] for line in log] == list(range(1, STEPS + 1))
    assert all(set(line) == {"step", "loss", "tokens_per_s"} for line in log)
    assert set(last) == KEYS and last["done"] is True
    assert (last["first_loss"], last["last_loss"]) == (log[0]["loss"], log[-1]["loss"])
    assert last["val_loss"] < last["val_loss_before"] and last["peak_bytes"] > 4 * 850_000
    assert [one["step"] for one in last["answers"]] == [0, STEPS]
    assert last["params"] == 852_608 and last["checkpoint"] == str(folder / "out")
    return log, last


@pytest.mark.parametrize(("runtime", "method"), [("browser", "lora"), ("native", "full")])
def test_what_lies_in_out_opens_elsewhere(runtime: str, method: str, tmp_path: Path) -> None:
    _, last = finetune(tmp_path, "--runtime", runtime, "--method", method)
    folder = real_models.glass_en()
    assert (last["trained_params"] == last["params"]) == (method == "full")
    base = tmp_path / "out" if method == "full" else folder
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    if method == "lora":
        model = PeftModel.from_pretrained(model, tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(base)
    ids = tokenizer(PROMPT, return_tensors="pt", return_token_type_ids=False)
    written = model.generate(**ids, max_new_tokens=NEW, do_sample=False)[0]
    said = tokenizer.decode(written[ids["input_ids"].shape[1]:], skip_special_tokens=True)
    assert last["answers"][-1]["answers"] == [{"prompt": PROMPT, "text": said}]


def test_what_is_missing_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("text")
    for words, said in ((("--model", tmp_path, "--data", tmp_path / "data.txt"), "config.json"),
                        (("--model", real_models.glass_en(), "--data", tmp_path / "no"), "--data")):
        done = build("finetune", *words, "--out", tmp_path / "out")
        assert done.returncode == 1 and done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert said in line
