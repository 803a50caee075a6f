"""`build.py finetune`: a folder in the Hugging Face layout learns a file of text."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tools.folder_server import FolderServer
from tools.job_output import adapter, follow, logging_steps, print_line, write_out
from tools.session import Session


async def finetune(options: argparse.Namespace, session: Session,
                   boot: dict[str, Any]) -> dict[str, Any]:
    """Trains, prints a JSON line per log step and a last one with the result, saves to --out.

    Returns:
        the last line, with all the others as `log`.
    """
    with FolderServer(Path(options.model)) as server:
        model = (await session.command("download_model", {"source": server.url}))["model"]["model"]
    data = Path(options.data)
    corpus = (await session.command("add_corpus", {"title": data.name,
                                                   "text": data.read_bytes()}))["corpus"]
    defaults = await session.command("finetune_defaults", {"model": model})
    settings = _settings(options, defaults["settings"])
    run = (await session.command("finetune", {
        "model": model, "corpus": corpus["sha256"], "settings": settings,
        "skip_bad_lines": options.skip_bad_lines}))["run"]
    log, done = await follow(session, run["run"], settings["logging_steps"])
    history = (await session.command("restore", {"run": run["run"], "train": False}))["history"]
    validation = [point["loss"] for point in history["validation"]]
    exported = await session.command("export", {"run": run["run"]})
    result = {"done": True, "params": run["parameters"],
              "trained_params": run["trained_parameters"], "first_loss": log[0]["loss"],
              "last_loss": log[-1]["loss"],
              "val_loss_before": validation[0] if validation else None,
              "val_loss": validation[-1] if validation else None,
              "answers": history["answers"], "adapter": adapter(boot["device"]),
              "checkpoint": write_out(exported["zip"], Path(options.out)),
              "peak_bytes": done["gpu_bytes"]}
    print_line(result)
    return {**result, "log": log}


def _settings(options: argparse.Namespace, usual: dict[str, Any]) -> dict[str, Any]:
    """What suits the model, with what the command line says; intervals fit into the run."""
    chosen: dict[str, Any] = {
        "method": options.method, "context_length": options.context,
        "per_device_train_batch_size": options.batch, "learning_rate": options.learning_rate,
        "max_steps": options.steps, "seed": options.seed, "optim": options.optim,
        "momentum": options.momentum, "lr_scheduler_type": options.schedule,
        "prompts": options.prompt, "max_new_tokens": options.max_new_tokens,
        "gradient_checkpointing": options.gradient_checkpointing,
        "activation_dtype": options.activation_dtype}
    settings = {**usual, **{name: value for name, value in chosen.items() if value is not None}}
    steps = settings["max_steps"]
    lora = {"r": options.rank, "lora_alpha": options.alpha,
            "target_modules": options.targets and options.targets.split(",")}
    return {**settings,
            "lora": {**usual["lora"], **{name: value for name, value in lora.items()
                                         if value is not None}},
            "warmup_steps": min(settings["warmup_steps"], max(steps, 0) // 10),
            "logging_steps": logging_steps(steps),
            **{name: min(settings[name], max(steps, 1)) for name in ("eval_steps", "save_steps")}}
