"""SmolLM2-135M-Instruct learns with LoRA, natively: ten steps beside peft, their memory and time.

    python3 build.py bench smollm2_lora --json smollm2_lora.json

The weights stay bfloat16 on the GPU; peft computes with the same numbers in float32. Fails when a
loss differs by more than 1e-3, or when the estimate of the memory is more than 10 % off.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.table import table
from tabgrad import platform
from tabgrad.app.finetune import estimate_run
from tabgrad.checkpoint.models import open_folder
from tabgrad.data.dataset import Dataset
from tabgrad.data.parsing import parse
from tabgrad.data.tokens import tokenize
from tabgrad.gpu.device import open_device
from tabgrad.train.base import Base, BaseName
from tabgrad.train.finetune import FineTuning, finetuning
from tabgrad.train.finetune_settings import FineTuneSettings
from tests import finetune_oracle, real_models

LIMIT, MEMORY_LIMIT = 1e-3, 0.1
MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
QUESTIONS = "".join(json.dumps({"messages": [
    {"role": "user", "content": f"Who lit lamp {number}?"},
    {"role": "assistant", "content": f"Nobody asked. The boats of pier {number} came home."}]})
    + "\n" for number in range(40)).encode()


def settings_of(context: int, checkpointing: bool) -> FineTuneSettings:
    """One row a step, every matrix of the layers with rank 8."""
    return FineTuneSettings.from_dict({
        "context_length": context, "per_device_train_batch_size": 1, "max_steps": 10,
        "learning_rate": 1e-3, "warmup_steps": 0, "eval_steps": 0,
        "gradient_checkpointing": checkpointing, "lora": {"r": 8, "target_modules": MODULES}})


async def measure(folder: Path, settings: FineTuneSettings) -> tuple[dict[str, Any], Dataset, Any]:
    """Losses, seconds and bytes of the ten steps; the rows; the adapter before them."""
    model = await open_folder(platform.current().files(str(folder.parent)), folder.name)
    base = await Base.open(model, BaseName(folder.name, folder.name, None, {}))
    dataset = Dataset(tokenize(parse("lamps.jsonl", QUESTIONS), base.tokenizer),
                      settings.context_length, seed=settings.seed)
    device = await open_device("webgpu")
    expected = estimate_run(settings, base, device, 1.0, None)
    with tempfile.TemporaryDirectory() as files:
        build = finetuning(settings, base, dataset, platform.current().files(files))
        engine = await build(device, None, lambda *_: None)
    assert isinstance(engine, FineTuning)
    before = await engine.adapter.state()
    losses, seconds = [], []
    peak = device.gpu.counters()["bytes"]
    for step in range(settings.max_steps):
        start = time.perf_counter()
        measured, = engine.step.read(step, await engine.step.submit(step, 1))
        seconds.append(time.perf_counter() - start)
        losses.append(measured.loss)
        peak = max(peak, device.gpu.counters()["bytes"])
    return {"adapter": device.info.name, "losses": losses, "seconds": seconds,
            "peak_bytes": peak, "estimated_bytes": expected["total_bytes"],
            "trained_parameters": expected["trained_parameters"],
            "dispatches": engine.step.plan.dispatches}, dataset, before


def main(words: list[str]) -> int:
    """Prints a table; the exit code says whether losses and estimate are near enough."""
    parser = argparse.ArgumentParser(prog="build.py bench smollm2_lora", description=__doc__)
    parser.add_argument("--context", type=int, default=64, metavar="T", help="tokens of a row")
    parser.add_argument("--gradient-checkpointing", action="store_true")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers to this file")
    options = parser.parse_args(words)
    folder = real_models.smollm2_135m()
    settings = settings_of(options.context, options.gradient_checkpointing)
    result, dataset, before = asyncio.run(measure(folder, settings))
    start = time.perf_counter()
    theirs = finetune_oracle.losses(finetune_oracle.model_of(folder, settings, before), dataset,
                                    settings)
    result |= {"peft_losses": theirs, "peft_seconds": (time.perf_counter() - start) / len(theirs)}
    print(table(["step", "tabgrad", "peft", "difference", "seconds"], [
        [step + 1, f"{ours:.5f}", f"{other:.5f}", f"{abs(ours - other):.1e}", f"{taken:.2f}"]
        for step, (ours, other, taken) in enumerate(zip(
            result["losses"], theirs, result["seconds"], strict=True))]))
    off = result["peak_bytes"] / result["estimated_bytes"] - 1.0
    print(f"\n{result['adapter']}: {result['trained_parameters']:,} numbers trained, "
          f"{result['dispatches']} dispatches a step, peak {result['peak_bytes'] / 1e6:.1f} MB "
          f"(estimated {result['estimated_bytes'] / 1e6:.1f} MB, {off:+.1%}); "
          f"peft on the CPU {result['peft_seconds']:.2f} s a step")
    if options.json:
        Path(options.json).write_text(json.dumps(result) + "\n")
    far = max(abs(ours - other) for ours, other in zip(result["losses"], theirs, strict=True))
    return int(far > LIMIT or abs(off) > MEMORY_LIMIT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
