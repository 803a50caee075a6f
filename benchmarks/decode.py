"""Reading a prompt and writing ids beside other libraries: the same checkpoint, greedily.

    python3 build.py bench decode --peers peers.json --json decode.json

A Llama-style model of 5.0 M bfloat16 weights in headless Chromium: a prompt of 128 ids, then 64
ids, two rounds in fresh browsers, beside PyTorch on the CPU. `--peers` takes the JSON that the
comparison's own program wrote in the same sitting. Fails when the ids are not PyTorch's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from playwright.sync_api import Playwright, sync_playwright

from benchmarks import decode_work
from benchmarks.table import table
from tests.e2e.chromium import Chromium
from tests.e2e.hosting import Host
from tests.e2e.python_page import PythonPage, make_site
from tests.e2e.worker_probe import COUNTERS
from tools import environment, system

Run = dict[str, Any]
HEAD = ["library", "backend", "load ms", "first id ms, cold", "first id ms, warm", "prefill ids/s",
        "decode ids/s", "decode ms an id", "same ids as torch", "dispatches an id", "GPU MB"]

OPEN = """
from tabgrad.gpu.device import open_device
device = await open_device("webgpu")
import tabgrad.generate.session, tabgrad.checkpoint.load
device.close()
"""
MEASURE = """
import json, types
import js
from pyodide.http import pyfetch
from tabgrad import platform
from tabgrad.checkpoint.models import open_folder
from tabgrad.gpu.device import open_device

timed = types.ModuleType("timed_decode")
exec((await (await pyfetch("timed_decode.py")).bytes()).decode(), timed.__dict__)
prompt = json.loads((await (await pyfetch("prompt.json")).bytes()).decode())
files = platform.current().files("bench")
for name in ("config.json", "model.safetensors"):
    address = js.URL.new("model/" + name, js.location.href).href
    await platform.current().download(files, address, "model/" + name)
device = await open_device("webgpu")
counts = lambda: json.loads(js.JSON.stringify(js.gpuCounters.counts))
result = await timed.measure(device, await open_folder(files, "model"), prompt, {new},
                             js.performance.now, counts)
json.dumps(result)
"""


def main(arguments: list[str]) -> int:
    """Measures, prints the table, writes JSON; 1 when the ids are not PyTorch's."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "checkpoint" / "model"
        decode_work.write_checkpoint(folder)
        reference = torch_ids(folder)
        others = [run for run in json.loads(options.peers.read_text())["runs"]
                  if run.get("decodeMs")] if options.peers else []
        ours = measure_in_tab(Path(scratch), folder, options.rounds)
    meta = {"cores": os.cpu_count(), "adapter": ours[0]["adapter"],
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    if options.json:
        options.json.write_text(json.dumps({"meta": meta, "runs": [*ours, *others]}, indent=1))
    print(f"decode, adapter {meta['adapter']}, {meta['cores']} cores, {meta['time']}\n")
    print(decode_table([*ours, *others], reference))
    print("\nwhere an id's time goes\n\n" + kernel_table(ours[-1]["kernels"]))
    wrong = [run for run in ours if run["tokens"] != reference]
    return 1 if wrong else 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--peers", type=Path, help="JSON of the other libraries' runs")
    parser.add_argument("--json", type=Path, help="also write every number to this file")
    return parser.parse_args(arguments)


def torch_ids(folder: Path) -> list[int]:
    """The ids that Transformers writes greedily, in float32 on the CPU."""
    import torch
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = torch.tensor([decode_work.prompt()])
    with torch.no_grad():
        text = model.generate(ids, do_sample=False, max_new_tokens=decode_work.NEW,
                              min_new_tokens=decode_work.NEW, pad_token_id=0)
    return [int(one) for one in text[0, ids.shape[1]:]]


def measure_in_tab(scratch: Path, checkpoint: Path, rounds: int) -> list[Run]:
    """Our runs, each round in a fresh browser."""
    with sync_playwright() as playwright:
        folder = scratch / "site"
        folder.mkdir()
        address = make_site(folder, environment.python("build"))
        shutil.copytree(checkpoint, folder / "model")
        (folder / "prompt.json").write_text(json.dumps(decode_work.prompt()))
        shutil.copy(Path(__file__).with_name("timed_decode.py"), folder)
        with Host(folder) as host:
            return [_round(playwright, scratch / str(number), host.url + address)
                    for number in range(rounds)]


def _round(playwright: Playwright, profile: Path, url: str) -> Run:
    with Chromium(playwright, system.chromium(), profile) as browser:
        page = PythonPage(browser.context, url)
        page(OPEN)
        (worker,) = page.page.workers
        worker.evaluate(COUNTERS)
        result = json.loads(page(MEASURE.replace("{new}", str(decode_work.NEW))))
        return {**result, "peer": "tabgrad", "backend": "webgpu", "pageErrors": page.problems}


def decode_table(runs: list[Run], reference: list[int]) -> str:
    """One row a library, the fastest decoder first."""
    names = sorted({run["peer"] for run in runs}, key=lambda name: statistics.median(
        time for run in runs if run["peer"] == name for time in run["decodeMs"]))
    return table(HEAD, [_row([run for run in runs if run["peer"] == name], reference)
                        for name in names])


def _row(runs: list[Run], reference: list[int]) -> list[str]:
    def median(name: str) -> float | None:
        values = [run[name] for run in runs if run.get(name) is not None]
        return statistics.median(values) if values else None

    per_id = statistics.median(time for run in runs for time in run["decodeMs"])
    same = min(_same(run["tokens"], reference) for run in runs)
    prefill = statistics.median(run["promptTokens"] / run["prefillMs"] * 1e3 for run in runs)
    held = median("gpuBytes")
    return [runs[0]["peer"], str(runs[0].get("backend", "")), _number(median("loadMs")),
            _number(median("firstTokenMs")), _number(median("prefillMs")), f"{prefill:.0f}",
            f"{1e3 / per_id:.1f}", f"{per_id:.2f}", f"{same} of {len(reference)}",
            str(runs[0].get("dispatchesPerToken", "")), _number(held and held / 1e6)]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _same(tokens: list[int], reference: list[int]) -> int:
    """How many ids are the same up to the first that is not."""
    for index, (one, other) in enumerate(zip(tokens, reference, strict=False)):
        if one != other:
            return index
    return min(len(tokens), len(reference))


def kernel_table(kernels: list[list[Any]]) -> str:
    """Milliseconds by kernel, the most first."""
    sums: dict[str, list[float]] = defaultdict(list)
    for label, milliseconds in kernels:
        sums[label.split("(")[0]].append(milliseconds)
    rows = sorted(sums.items(), key=lambda item: -sum(item[1]))
    return table(["kernel", "launches", "ms"],
                 [[name, str(len(times)), f"{sum(times):.2f}"] for name, times in rows])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
