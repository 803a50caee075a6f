"""SmolLM2-135M-Instruct in the tab: how it loads, what it answers, how fast it reads and writes.

    python3 build.py bench smollm2 --json smollm2.json

The model (269 MB, bfloat16) comes from a host of this computer through the loader, is opened again
without a network, and is asked a question. Fails when loading takes more of Python's or
JavaScript's memory than it may, when the second load asks the host for anything, or when the answer
is not Transformers'.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from playwright.sync_api import Playwright, sync_playwright

from benchmarks.table import table
from tests import real_models
from tests.e2e.chromium import Chromium
from tests.e2e.hosting import Host
from tests.e2e.python_page import PythonPage, make_site
from tests.e2e.worker_probe import WorkerSession
from tests.faulty_host import FaultyHost
from tools import environment, system

MIB = 2**20
MOST_WASM, MOST_JAVASCRIPT = 64 * MIB, 200 * MIB
QUESTION = "What is the capital of France?"
NEW = 40
PROMPT = 256
CONTEXT = 512
POLL_MS = 50

BEGIN = """
import asyncio, builtins, json
import js, pyodide_js
import tabgrad

def memory():
    return pyodide_js._module.HEAPU8.length
"""
# The package and the GPU are there before the loading that is watched.
OPEN = BEGIN + """
from tabgrad.gpu.device import open_device
import tabgrad.generate.load
device = await open_device("webgpu")
builtins.memory = memory
[device.info.name, memory()]
"""
LOAD = BEGIN + """
async def load():
    start = js.performance.now()
    builtins.lm = await tabgrad.load(ADDRESS, context_length=CONTEXT)
    return js.performance.now() - start

builtins.flight = asyncio.ensure_future(load())
0
"""
LOOK = "import builtins\n[builtins.flight.done(), builtins.memory()]"
LOADED = "import builtins\n[builtins.flight.result(), builtins.memory()]"
ASK = BEGIN + """
from dataclasses import asdict
lm = builtins.lm

async def ask():
    lm.session.forget()
    pieces = [piece async for piece in lm.generate(
        [{"role": "user", "content": QUESTION}], max_new_tokens=NEW, temperature=0.0)]
    return ["".join(pieces), asdict(lm.usage)]

[await ask(), await ask(), lm.session.plan.dispatches, lm.decoder.recipe.num_hidden_layers]
"""
READ = BEGIN + """
from dataclasses import asdict
from tabgrad.generate.sampling import Sampling
session = builtins.lm.session
ids = (builtins.lm.encode("The quick brown fox jumps over the lazy dog. ") * PROMPT)[:PROMPT + 1]

async def read():
    session.forget()
    async for _ in session.generate(ids, Sampling(temperature=0.0), 17):
        pass
    return asdict(session.usage)

[await read(), await read(), await session.device.profile(session.plan)]
"""


def main(arguments: list[str]) -> int:
    """Measures and prints; 1 when a limit does not hold or the answer is another."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write every number to this file")
    options = parser.parse_args(arguments)
    folder = real_models.smollm2_135m()
    expected = transformers_answer(folder)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        found = measure(playwright, Path(scratch), folder)
    found |= {"expected": expected, "cores": os.cpu_count(),
              "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    report(found)
    problems = wrong(found)
    for problem in problems:
        print(f"not as it should be: {problem}")
    return 1 if problems else 0


def transformers_answer(folder: Path) -> str:
    """What Transformers answers greedily, in float32 on the CPU."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = tokenizer.apply_chat_template([{"role": "user", "content": QUESTION}],
                                        add_generation_prompt=True, return_tensors="pt",
                                        return_dict=False)
    with torch.no_grad():
        text = model.generate(ids, do_sample=False, max_new_tokens=NEW)
    return str(tokenizer.decode(text[0, ids.shape[1]:], skip_special_tokens=True))


def measure(playwright: Playwright, scratch: Path, folder: Path) -> dict[str, Any]:
    """Two loads, each in a page of its own, and what the second one's model does."""
    site = scratch / "site"
    site.mkdir()
    address = make_site(site, environment.python("build"))
    files: Any = {f"smollm2/{path.name}": path.read_bytes() for path in folder.iterdir()}
    with (FaultyHost(files) as models, Host(site) as host,
          Chromium(playwright, system.chromium(), scratch / "profile") as browser):
        loads = []
        for _ in range(2):
            page = PythonPage(browser.context, host.url + address)
            adapter, before = page(OPEN)
            asked = len(models.asked)
            loads.append(load(page, models.url + "smollm2/", before))
            loads[-1]["requests"] = len(models.asked) - asked
            if len(loads) == 1:
                page.close()
        cold, warm, dispatches, layers = page(_with(ASK))
        long_cold, long_warm, kernels = page(_with(READ))
        return {"adapter": adapter, "loads": loads, "answers": [cold, warm],
                "dispatches": dispatches, "layers": layers, "long": [long_cold, long_warm],
                "kernels": kernels, "problems": page.problems}


def _with(code: str, **more: object) -> str:
    values = {"QUESTION": QUESTION, "NEW": NEW, "PROMPT": PROMPT, "CONTEXT": CONTEXT, **more}
    return "".join(f"{name} = {value!r}\n" for name, value in values.items()) + code


def load(page: PythonPage, address: str, before: int) -> dict[str, Any]:
    """Loads the model while looking at the worker's memory every 50 ms."""
    session = WorkerSession(SimpleNamespace(  # type: ignore[arg-type]
        page=page.page, context=page.page.context))
    page(_with(LOAD, ADDRESS=address))
    wasm = javascript = 0
    while True:
        done, now = page(LOOK)
        used = session.send("Runtime.getHeapUsage")
        # Objects and array buffers; WebAssembly's memory does not count among them.
        javascript = max(javascript, used["usedSize"] + used["backingStorageSize"])
        wasm = max(wasm, now)
        if done:
            break
        page.page.wait_for_timeout(POLL_MS)
    session.close()
    took, now = page(LOADED)
    return {"ms": took, "wasm": max(wasm, now) - before, "javascript": javascript}


def wrong(found: dict[str, Any]) -> list[str]:
    """What does not hold, in words."""
    problems = [f"{name} {load[key] / MIB:.0f} MiB" for load in found["loads"]
                for name, key, most in (("Python's memory grew by", "wasm", MOST_WASM),
                                        ("JavaScript's memory was", "javascript",
                                         MOST_JAVASCRIPT)) if load[key] >= most]
    if found["loads"][1]["requests"]:
        problems.append(f"the second load made {found['loads'][1]['requests']} requests")
    problems += [f"the answer {text!r}" for text, _ in found["answers"]
                 if text != found["expected"]]
    return problems + found["problems"]


def report(found: dict[str, Any]) -> None:
    """Prints what was measured."""
    print(f"SmolLM2-135M-Instruct, adapter {found['adapter']}, {found['cores']} cores, "
          f"{found['time']}\n")
    print(table(["load", "s", "Python's memory grew by MiB", "JavaScript's peak MiB",
                 "requests"],
                [[name, f"{load['ms'] / 1e3:.1f}", f"{load['wasm'] / MIB:.0f}",
                  f"{load['javascript'] / MIB:.0f}", load["requests"]]
                 for name, load in zip(("first", "second"), found["loads"], strict=True)]))
    print(f"\n{QUESTION}\n  {found['answers'][1][0]}\n")
    rows = [("question, cold", found["answers"][0][1]), ("question", found["answers"][1][1]),
            (f"{PROMPT} ids, cold", found["long"][0]), (f"{PROMPT} ids", found["long"][1])]
    print(table(["prompt", "ids read", "first id s", "ms an id read", "ms an id written",
                 "ratio"], [_row(name, usage) for name, usage in rows]))
    print(f"\n{found['dispatches']} dispatches an id, {found['layers']} layers\n")
    sums: dict[str, list[float]] = {}
    for label, milliseconds in found["kernels"]:
        sums.setdefault(label.split("(")[0], []).append(milliseconds)
    print(table(["kernel", "launches", "ms"],
                [[name, len(times), f"{sum(times):.1f}"] for name, times
                 in sorted(sums.items(), key=lambda item: -sum(item[1]))]))


def _row(name: str, usage: dict[str, float]) -> list[object]:
    read = usage["prefill_ms"] / usage["prefill_tokens"]
    written = usage["decode_ms"] / max(1, usage["completion_tokens"] - 1)
    return [name, usage["prefill_tokens"], f"{usage['first_token_ms'] / 1e3:.1f}",
            f"{read:.1f}", f"{written:.1f}", f"{written / read:.1f}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
