"""`build.py train` and `generate` keep their contract, in the page and on CPython."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests import real_models
from tools.corpora import OWN_TEXT
from tools.shell import ROOT

STEPS = 12
RUNTIMES = ("browser", "native")


def build(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs build.py with this interpreter."""
    command = [sys.executable, ROOT / "build.py", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)


def generate(model: Path, runtime: str, *more: str) -> str:
    """What the model writes: greedy, so that runtimes can be compared."""
    done = build("generate", "--model", model, "--prompt", "Market", "--max-new-tokens", "24",
                 "--temperature", "0", "--runtime", runtime, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=RUNTIMES)
def trained(request: pytest.FixtureRequest,
            tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, list[dict[str, Any]]]:
    """The runtime, the folder of a trained model, and the lines that were printed."""
    folder = tmp_path_factory.mktemp(request.param)
    done = build("train", "--text", OWN_TEXT, "--preset", "tiny", "--steps", str(STEPS),
                 "--batch", "4", "--context", "32", "--seed", "7", "--out", folder / "model",
                 "--json", folder / "result.json", "--runtime", request.param)
    assert done.returncode == 0, done.stderr
    return request.param, folder, [json.loads(line) for line in done.stdout.splitlines()]


def test_train_prints_a_line_a_step_and_the_result(
        trained: tuple[str, Path, list[dict[str, Any]]]) -> None:
    _, folder, (*log, last) = trained
    assert [line["step"] for line in log] == list(range(1, STEPS + 1))
    assert all(set(line) == {"step", "loss", "tokens_per_s"} for line in log)
    assert set(last) == {"done", "params", "first_loss", "last_loss", "val_loss", "sample",
                         "adapter", "checkpoint"}
    assert last["done"] is True and last["params"] == 120_576
    assert last["first_loss"] == log[0]["loss"] and last["last_loss"] == log[-1]["loss"]
    assert abs(last["first_loss"] - math.log(256)) < 0.1 > 0
    assert last["last_loss"] < last["first_loss"] and last["val_loss"] > 0
    assert last["adapter"] and last["sample"]
    kept = json.loads((folder / "result.json").read_text())
    assert kept == {**last, "log": log}


def test_the_checkpoint_is_a_folder_that_names_its_files(
        trained: tuple[str, Path, list[dict[str, Any]]]) -> None:
    _, folder, lines = trained
    assert lines[-1]["checkpoint"] == str(folder / "model")
    manifest = json.loads((folder / "model" / "manifest.json").read_text())
    for name in ("model.safetensors", "config.json", "optimizer.safetensors", "state.json"):
        assert (folder / "model" / name).stat().st_size == manifest["files"][name]["bytes"]


def test_both_runtimes_write_the_same_greedy_text(
        trained: tuple[str, Path, list[dict[str, Any]]]) -> None:
    _, folder, _ = trained
    first, second = (generate(folder / "model", runtime) for runtime in RUNTIMES)
    assert first == second
    assert first.startswith("Market") and len(first.encode()) >= len("Market") + 24


def test_generate_writes_its_result_to_a_file(
        trained: tuple[str, Path, list[dict[str, Any]]]) -> None:
    _, folder, _ = trained
    text = generate(folder / "model", "native", "--json", str(folder / "generated.json"))
    result = json.loads((folder / "generated.json").read_text())
    assert result["prompt"] + result["text"] == text.removesuffix("\n")
    assert result["tokens"] == 24


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_folder_of_the_hub_writes_what_transformers_writes(runtime: str, tmp_path: Path) -> None:
    folder = real_models.glass_en()
    prompt = "The old man sat by the window and"
    done = build("generate", "--model", folder, "--prompt", prompt, "--max-new-tokens", "40",
                 "--temperature", "0", "--runtime", runtime, "--json", tmp_path / "result.json")
    assert done.returncode == 0, done.stderr
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        written = model.generate(ids, do_sample=False, max_new_tokens=40)[0, ids.shape[1]:]
    text = tokenizer.decode(written, skip_special_tokens=True)
    assert done.stdout == f"{prompt}{text}\n"
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["prompt"], result["text"]) == (prompt, text)
    assert result["tokens"] == len(written) and result["finish_reason"] in ("length", "stop")
    assert result["usage"]["prompt_tokens"] == ids.shape[1] and result["adapter"]
    assert result["model"]["gpu_bytes"] > 1e6


@pytest.mark.parametrize(("files", "words"), [
    ([], "no config.json"), (["config.json"], "neither manifest.json")])
def test_a_folder_that_is_no_model_is_refused_at_once(files: list[str], words: str,
                                                      tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).write_text("{}")
    done = build("generate", "--model", tmp_path, "--prompt", "a")
    assert done.returncode == 1 and words in done.stderr and done.stdout == ""
