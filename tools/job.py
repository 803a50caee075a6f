"""Headless jobs: `train`, `finetune`, `generate`, `evaluate`, over the commands of protocol.json.

Started by tools/launch.py inside the project's environment with its options as one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tabgrad.checkpoint.archive import pack
from tabgrad.errors import TabgradError
from tabgrad.text.corpus import Corpus, check_length
from tabgrad.train.settings import TrainSettings
from tools import site, system
from tools.evaluate_job import evaluate
from tools.finetune_job import finetune
from tools.job_output import adapter, follow, logging_steps, print_line, write_out
from tools.model_job import generate_model, is_model
from tools.session import Session
from tools.shell import BuildError

SAMPLE_BYTES = 200
PROMPT_BYTES = 16


def main(words: list[str]) -> int:
    """Runs the job that `words[0]` describes; a failure is one line on standard error."""
    options = argparse.Namespace(**json.loads(words[0]))
    job = JOBS[options.job]
    try:
        asyncio.run(_with_session(options, job))
    except (BuildError, TabgradError) as error:
        print(f"build.py {options.job}: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


async def _with_session(options: argparse.Namespace, job: Any) -> None:
    if options.job == "train":
        options.settings = _settings(options)
        options.data = _text(options)
    session = _session(options)
    try:
        result = await job(options, session, await session.start())
    finally:
        await session.close()
    if options.json:
        Path(options.json).write_text(json.dumps(result) + "\n")


def _session(options: argparse.Namespace) -> Session:
    if options.runtime == "browser":
        from tools.browser_session import BrowserSession
        browser = system.chromium()
        return BrowserSession(site.build(), browser)
    from tools.native_session import NativeSession
    system.ensure(system.VULKAN)
    return NativeSession()


def _text(options: argparse.Namespace) -> bytes:
    """The text, checked before anything slow is started."""
    data = Path(options.text).read_bytes()
    check_length(len(Corpus.from_bytes(options.text, data)), options.settings.context_length)
    return data


async def train(options: argparse.Namespace, session: Session,
                boot: dict[str, Any]) -> dict[str, Any]:
    """Trains, prints a JSON line per log step and a last one with the result, saves to --out.

    Returns:
        the last line, with all the others as `log`.
    """
    corpus = (await session.command("add_corpus", {"title": Path(options.text).name,
                                                   "text": options.data}))["corpus"]
    run = (await session.command("train", {"settings": options.settings.to_dict(),
                                           "corpus": corpus["sha256"]}))["run"]
    log, done = await follow(session, run["run"], options.settings.logging_steps)
    words = options.settings.text
    prompt = words.prompt if words else options.data[:PROMPT_BYTES].decode("utf-8",
                                                                           errors="ignore")
    sample = await session.command("generate", {
        "run": run["run"], "prompt": prompt, "max_new_tokens": SAMPLE_BYTES, "temperature": 0.8,
        "top_k": 0, "seed": options.seed})
    exported = await session.command("export", {"run": run["run"]})
    result = {"done": True, "params": run["parameters"], "first_loss": log[0]["loss"],
              "last_loss": log[-1]["loss"], "val_loss": done["validation_loss"],
              "sample": sample["text"], "adapter": adapter(boot["device"]),
              "checkpoint": write_out(exported["zip"], Path(options.out))}
    print_line(result)
    return {**result, "log": log}


def _settings(options: argparse.Namespace) -> TrainSettings:
    """The preset's defaults with what the command line says; intervals fit into the run."""
    start, steps = TrainSettings.for_preset(options.preset), options.steps
    chosen: dict[str, Any] = {
        "max_steps": steps, "seed": options.seed, "context_length": options.context,
        "per_device_train_batch_size": options.batch, "learning_rate": options.learning_rate,
        "logging_steps": logging_steps(steps), "optim": options.optim,
        "momentum": options.momentum, "lr_scheduler_type": options.schedule,
        "warmup_steps": min(start.warmup_steps, max(steps, 0) // 10),
        "gradient_checkpointing": options.gradient_checkpointing,
        "activation_dtype": options.activation_dtype,
    }
    for name in ("eval_steps", "save_steps", "sample_steps"):
        chosen[name] = min(getattr(start, name), max(steps, 1))
    return replace(start, **{name: value for name, value in chosen.items() if value is not None})


async def generate(options: argparse.Namespace, session: Session,
                   boot: dict[str, Any]) -> dict[str, Any]:
    """Prints the prompt and its continuation by the model in --model.

    Returns:
        text, tokens, milliseconds or usage, and adapter.
    """
    if is_model(Path(options.model)):
        return {**await generate_model(options, session), "adapter": adapter(boot["device"])}
    run = (await session.command("import", {"zip": _pack(Path(options.model))}))["run"]
    reply = await session.command("generate", {
        "run": run["run"], "prompt": options.prompt, "max_new_tokens": options.max_new_tokens,
        "temperature": options.temperature, "top_k": options.top_k, "seed": options.seed})
    print(options.prompt + reply["text"], flush=True)
    return {"prompt": options.prompt, "text": reply["text"], "tokens": reply["tokens"],
            "milliseconds": reply["milliseconds"], "adapter": adapter(boot["device"])}


JOBS = {"train": train, "finetune": finetune, "generate": generate, "evaluate": evaluate}


def _pack(folder: Path) -> bytes:
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    return pack(folder.resolve().name, files)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
