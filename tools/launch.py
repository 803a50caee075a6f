"""Starts headless jobs and benchmarks inside the project's environment."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools import environment, system
from tools.shell import ROOT, BuildError

NOT_PASSED = ("verb", "takes_more", "rest")
TASK_SETS = ("everyday", "endings")  # those that ship
ADAPTER = "adapter_config.json"


def run_job(options: argparse.Namespace) -> int:
    """Runs a job: what needs no package is checked first, then tools.job starts.

    Returns:
        the exit code.
    Raises:
        BuildError: a file is missing or empty.
    """
    if options.job == "train":
        _check_text("--text", Path(options.text))
    elif options.job == "finetune":
        _check_base(Path(options.model))
        _check_text("--data", Path(options.data))
    elif options.job == "evaluate":
        _check_evaluate(options)
    else:
        _check_model(Path(options.model))
    python = environment.python("run")
    chosen = {name: value for name, value in vars(options).items() if name not in NOT_PASSED}
    return _run([python, "-m", "tools.job", json.dumps(chosen)])


def run_benchmark(name: str, arguments: Sequence[str]) -> int:
    """Runs benchmarks/NAME.py with the environment of the tests; gives its exit code."""
    known = sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))
    if name not in known:
        raise BuildError(f"There is no benchmark '{name}'. There are: {', '.join(known)}.")
    system.ensure((*system.CHROMIUM, *system.VULKAN))
    python = environment.python("test")
    return _run([python, "-m", f"benchmarks.{name}", *arguments])


def _run(command: Sequence[str | Path]) -> int:
    words = [str(word) for word in command]
    return subprocess.run(words, env=environment.inherited(), check=False).returncode


def _check_text(option: str, path: Path) -> None:
    if not path.is_file():
        raise BuildError(f"{option}: there is no file {path}.")
    if path.stat().st_size == 0:
        raise BuildError(f"{option}: {path} is empty. Choose a text with at least one context in "
                         "it.")


def _check_evaluate(options: argparse.Namespace) -> None:
    _check_model(Path(options.model))
    if not any((options.text, options.tasks, options.conditions, options.memorisation)):
        raise BuildError("evaluate: say what on: --text FILE, --tasks SET, --conditions SET or "
                         "--memorisation FILE.")
    for option in ("text", "memorisation"):
        for name in getattr(options, option) or []:
            _check_text(f"--{option}", Path(name))
    for option in ("tasks", "conditions"):
        for name in getattr(options, option) or []:
            if name not in TASK_SETS:
                _check_text(f"--{option}", Path(name))
    if options.retrieve is not None:
        _check_text("--retrieve", Path(options.retrieve))
    if options.adapter is not None and not (Path(options.adapter) / ADAPTER).is_file():
        raise BuildError(f"--adapter: {options.adapter} has no {ADAPTER}. Name a folder that peft "
                         "or finetune --out wrote.")


def _check_base(folder: Path) -> None:
    found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    missing = {"config.json", "tokenizer.json"} - found
    if missing:
        raise BuildError(f"--model: {folder} has no {' and no '.join(sorted(missing))}. Name a "
                         "folder in the Hugging Face layout.")


def _check_model(folder: Path) -> None:
    found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if "config.json" not in found:
        raise BuildError(f"--model: {folder} has no config.json. Name a folder of train --out, or "
                         "one in the Hugging Face layout.")
    if not found & {"manifest.json", "tokenizer.json"}:
        raise BuildError(f"--model: {folder} has neither manifest.json, as a folder of train --out "
                         "has, nor tokenizer.json, as a model of the hub has.")
