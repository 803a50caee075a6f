"""Activation checkpointing: memory, time and gradients with and without, over depth and context.

    python3 build.py bench checkpointing --json checkpointing.json
    python3 build.py bench checkpointing --browser

`byte-tinygpt` (C = 128) with 2 to 16 layers, forward and backward, natively or in headless
Chromium. Fails when checkpointing changes a loss, or, with float32 kept, a bit of a gradient.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import checkpointing_work
from benchmarks.table import table

Row = dict[str, Any]

SHAPES = ((2, 128), (4, 128), (8, 128), (16, 128), (4, 256), (4, 512), (4, 1024))
BATCH, ROUNDS = 2, 4
HEAD = ["layers", "context", "mode", "kept for the backward MB", "intermediate results MB",
        "ms a step (least)", "dispatches", "distance of the gradients"]
MEASURE = """
import json, types
import js
from pyodide.http import pyfetch
from tabgrad.gpu.device import open_device
work = types.ModuleType("checkpointing_work")
exec(await (await pyfetch("checkpointing_work.py")).string(), work.__dict__)
device = await open_device("webgpu")
rows = await work.measure(device, {layers}, {context}, {batch}, {rounds}, js.performance.now)
device.close()
json.dumps(rows)
"""


def main(words: list[str]) -> int:
    """Measures and prints the table; 1 when checkpointing changed what it must not change."""
    parser = argparse.ArgumentParser(prog="build.py bench checkpointing", description=__doc__)
    parser.add_argument("--browser", action="store_true", help="in Chromium, instead of natively")
    parser.add_argument("--shapes", nargs="+", metavar="LAYERSxCONTEXT",
                        help="instead of those of the table, as in 4x128")
    parser.add_argument("--json", type=Path, help="also write every number to this file")
    options = parser.parse_args(words)
    shapes = [tuple(map(int, one.split("x"))) for one in options.shapes or ()] or list(SHAPES)
    rows = in_the_tab(shapes) if options.browser else asyncio.run(natively(shapes))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    print(f"{rows[0]['adapter']}, {BATCH} rows, {ROUNDS} rounds\n\n" + checkpointing_table(rows))
    wrong = [row for row in rows if row["loss"] != loss_of(rows, row)
             or (row["mode"] == "checkpointing" and not row["same_bits"])]
    return int(bool(wrong))


async def natively(shapes: list[tuple[int, ...]]) -> list[Row]:
    """The rows of all shapes on this machine's adapter."""
    from tabgrad.gpu.device import open_device
    rows: list[Row] = []
    for layers, context in shapes:
        device = await open_device("webgpu")
        rows += await checkpointing_work.measure(device, layers, context, BATCH, ROUNDS,
                                                 lambda: time.perf_counter() * 1e3)
        device.close()
    return rows


def in_the_tab(shapes: list[tuple[int, ...]]) -> list[Row]:
    """The rows of all shapes in one page of headless Chromium."""
    from playwright.sync_api import sync_playwright

    from tests.e2e.chromium import Chromium
    from tests.e2e.hosting import Host
    from tests.e2e.python_page import PythonPage, make_site
    from tools import environment, system

    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch) / "site"
        folder.mkdir()
        address = make_site(folder, environment.python("build"))
        shutil.copy(Path(checkpointing_work.__file__), folder)
        with Host(folder) as host, Chromium(playwright, system.chromium(),
                                            Path(scratch) / "profile") as browser:
            page = PythonPage(browser.context, host.url + address)
            rows: list[Row] = []
            for layers, context in shapes:
                code = MEASURE
                for name, value in (("layers", layers), ("context", context), ("batch", BATCH),
                                    ("rounds", ROUNDS)):
                    code = code.replace(f"{{{name}}}", str(value))
                rows += json.loads(page(code))
            return rows


def loss_of(rows: list[Row], like: Row) -> float:
    """The loss that the same shape has where everything is kept."""
    return next(float(row["loss"]) for row in rows if row["mode"] == "kept"
                and (row["layers"], row["context"]) == (like["layers"], like["context"]))


def checkpointing_table(rows: list[Row]) -> str:
    """Markdown: a line for each shape and mode."""
    return table(HEAD, [
        [row["layers"], row["context"], row["mode"], f"{row['kept_bytes'] / 1e6:.2f}",
         f"{row['slot_bytes'] / 1e6:.2f}", f"{min(row['ms']):.0f}",
         row["dispatches"], "same bits" if row["same_bits"] else f"{row['distance']:.1e}"]
        for row in rows])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
