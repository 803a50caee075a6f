"""Training steps beside other libraries: same first weights, same batch, same optimiser.

    python3 build.py bench train --shape small --peers peers.json --json train.json

Runs 3 + 20 steps (spec: 3 + 5) of the 842,496-parameter model in headless Chromium, two rounds in
fresh browsers, each step from its call until its loss is read back, beside PyTorch on the CPU.
`--peers` takes the JSON that the comparison's own program wrote in the same sitting, with PyTorch
among its rows. Fails when a loss is more than 1e-3 from PyTorch's. Then: where the time goes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Playwright, sync_playwright

from benchmarks import peer_work, torch_steps
from benchmarks.table import table
from tests.e2e.chromium import Chromium
from tests.e2e.hosting import Host
from tests.e2e.python_page import PythonPage, make_site
from tests.e2e.worker_probe import COUNTERS
from tools import environment, system

Run = dict[str, Any]

LOSS_GAP = 1e-3
HEAD = ["library", "backend", "start-up s", "first step ms", "step ms: median (min-max)",
        "median by round", "tokens/s by round", "loss: first to last (steps)",
        "largest gap to torch", "dispatches/submits/new buffers a step", "peak GPU MB", "errors"]

OPEN = """
from tabgrad.gpu.device import open_device
device = await open_device("webgpu")
import tabgrad.models.decoder, tabgrad.train.step
device.close()
"""
MEASURE = """
import io, json, types
import numpy as np
import js
from pyodide.http import pyfetch
from tabgrad.gpu.device import open_device

async def get(name):
    return await (await pyfetch(name)).bytes()

timed_steps = types.ModuleType("timed_steps")
exec((await get("timed_steps.py")).decode(), timed_steps.__dict__)
work = dict(np.load(io.BytesIO(await get("work.npz"))))
ids, targets = work.pop("ids"), work.pop("targets")
device = await open_device("webgpu")
counts = lambda: json.loads(js.JSON.stringify(js.gpuCounters.counts))
result = await timed_steps.measure(device, work, ids, targets, {steps}, js.performance.now, counts)
result["peakGpuBytes"] = counts()["peak_bytes"]
json.dumps(result)
"""


def main(arguments: list[str]) -> int:
    """Measures, prints the tables, writes JSON; 1 when the losses are not PyTorch's."""
    options = _options(arguments)
    steps = peer_work.WARMUP + (options.steps or peer_work.SHAPES[options.shape][2])
    others = _others(options, steps)
    reference = next(run["losses"] for run in others if run["peer"] == "torch")
    ours = measure_in_tab(options.shape, steps, options.rounds)
    runs = [*ours, *others]
    meta = {"shape": options.shape, "cores": os.cpu_count(), "adapter": ours[0]["adapter"],
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    if options.json:
        options.json.write_text(json.dumps({"meta": meta, "runs": runs}, indent=1))
    print(f"train {options.shape}, adapter {meta['adapter']}, {meta['cores']} cores, "
          f"{meta['time']}\n")
    print(train_table(runs, reference, options.shape))
    print("\nwhere a step's time goes\n\n" + kernel_table(ours[-1]["kernels"]))
    largest = max(gap(run["losses"], reference) for run in ours)
    if largest > LOSS_GAP:
        print(f"\nlosses are {largest:.1e} from PyTorch's; at most {LOSS_GAP} is right")
    return 0 if largest <= LOSS_GAP else 1


def _others(options: argparse.Namespace, steps: int) -> list[Run]:
    """PyTorch's run, or all runs of `--peers`, PyTorch's among them."""
    if not options.peers:
        return [torch_steps.measure(options.shape, steps)]
    known = json.loads(options.peers.read_text())
    received = known["work"]["B"], known["work"]["T"]
    assert received == peer_work.SHAPES[options.shape][:2], f"--peers is of B, T = {received}"
    return [run for run in known["runs"] if run.get("ms") and run.get("losses")]


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shape", choices=sorted(peer_work.SHAPES), default="small")
    parser.add_argument("--steps", type=int, help="timed steps, instead of the shape's")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--peers", type=Path, help="JSON of the other libraries' runs")
    parser.add_argument("--json", type=Path, help="also write every number to this file")
    return parser.parse_args(arguments)


def measure_in_tab(shape: str, steps: int, rounds: int) -> list[Run]:
    """Our steps, each round in a fresh browser."""
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch) / "site"
        folder.mkdir()
        address = make_site(folder, environment.python("build"))
        ids, targets = peer_work.batch(shape)
        np.savez(folder / "work.npz", ids=ids, targets=targets, **peer_work.weights())
        shutil.copy(Path(__file__).with_name("timed_steps.py"), folder)
        with Host(folder) as host:
            return [_round(playwright, Path(scratch) / str(number), host.url + address, steps)
                    for number in range(rounds)]


def _round(playwright: Playwright, profile: Path, url: str, steps: int) -> Run:
    with Chromium(playwright, system.chromium(), profile) as browser:
        start = time.monotonic()
        page = PythonPage(browser.context, url)
        page(OPEN)
        setup_ms = (time.monotonic() - start) * 1000
        (worker,) = page.page.workers
        worker.evaluate(COUNTERS)
        result = json.loads(page(MEASURE.replace("{steps}", str(steps))))
        return {**result, "peer": "tabgrad", "backend": "webgpu", "setupMs": setup_ms,
                "pageErrors": page.problems}


def gap(losses: list[float], reference: list[float]) -> float:
    """The largest difference over the steps that both made."""
    return max(abs(one - other) for one, other in zip(losses, reference, strict=False))


def train_table(runs: list[Run], reference: list[float], shape: str) -> str:
    """One row a library, the fastest first."""
    names = sorted({run["peer"] for run in runs}, key=lambda name: statistics.median(
        steady([run for run in runs if run["peer"] == name])))
    return table(HEAD, [_row([run for run in runs if run["peer"] == name], reference, shape)
                        for name in names])


def steady(runs: list[Run]) -> list[float]:
    """Milliseconds of the steps after the warm-up, of all rounds."""
    return [ms for run in runs for ms in run["ms"][peer_work.WARMUP:]]


def _row(runs: list[Run], reference: list[float], shape: str) -> list[object]:
    B, T, _ = peer_work.SHAPES[shape]
    last, times = runs[-1], steady(runs)
    medians = [statistics.median(steady([run])) for run in runs]
    step = last.get("perStep") or {}
    calls = "/".join(str(step[key]) for key in ("dispatches", "submits", "buffers")) \
        if step.get("submits") else "-"
    # One library brings its own model and start, so that its losses compare with nobody's.
    comparable = last["peer"] not in ("torch", "nanogpt")
    return [
        last["peer"], last.get("backend", ""),
        " / ".join(f"{run.get('setupMs', 0) / 1000:.1f}" for run in runs),
        " / ".join(f"{run['ms'][0]:.0f}" for run in runs),
        f"{statistics.median(times):.0f} ({min(times):.0f}-{max(times):.0f}, n={len(times)})",
        " / ".join(f"{median:.0f}" for median in medians),
        " / ".join(f"{B * T / median * 1000:.0f}" for median in medians),
        f"{last['losses'][0]:.4f} to {last['losses'][-1]:.4f} ({len(last['losses'])})",
        f"{max(gap(run['losses'], reference) for run in runs):.1e}" if comparable else "-",
        calls, f"{last.get('peakGpuBytes', 0) / 1e6:.0f}",
        sum(len(run.get("pageErrors") or []) + len(run.get("gpuErrors") or []) for run in runs),
    ]


def kernel_table(launches: list[list[Any]]) -> str:
    """Milliseconds by kernel: a label is the kernel's name, then its sizes."""
    spent: defaultdict[str, list[float]] = defaultdict(list)
    for label, ms in launches:
        spent[label.split("(")[0]].append(ms)
    total = math.fsum(ms for _, ms in launches)
    rows = sorted(spent.items(), key=lambda item: -sum(item[1]))
    return table(["kernel", "launches", "ms", "share"],
                 [[name, len(ms), f"{sum(ms):.2f}", f"{sum(ms) / total:.1%}"]
                  for name, ms in rows] + [["all", len(launches), f"{total:.2f}", "100%"]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
