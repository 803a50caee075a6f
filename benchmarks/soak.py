"""A long run of `tiny` in the tab: does memory stay flat?

    python3 build.py bench soak --steps 2000 --json soak.json

Prints a table of the JavaScript heaps of page and worker, of the WebAssembly heap and of the GPU
buffers, and fails when the mean of the last quarter is more than 2 % over that of the second.
The browser compiles as `memory_watch.STEADY_CODE` says, so that the heap holds what the page keeps.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.table import table
from tests.e2e.chromium import Chromium
from tests.e2e.hosting import Host
from tests.e2e.memory_watch import MEASURES, STEADY_CODE, Sample, drift, open_watched, watch
from tests.e2e.tab import Tab
from tools import site, system

LIMIT = 0.02


def main(arguments: list[str]) -> int:
    """Runs it and prints what was found; 1 when memory grows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--samples", type=int, default=40, help="moments at which to look")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args(arguments)
    found = measure(options.steps, options.samples)
    print(table(["step", *(f"{name.replace('_', ' ')} MB" for name in MEASURES)],
                [[sample.step, *(f"{asdict(sample)[name] / 1e6:.3f}" for name in MEASURES)]
                 for sample in found]))
    grown = drift(found)
    print("\nlast quarter over the second: "
          + ", ".join(f"{name} {part:+.2%}" for name, part in grown.items()))
    if options.json:
        options.json.write_text(json.dumps(
            {"samples": [asdict(sample) for sample in found], "drift": grown}, indent=1))
    return 0 if all(part <= LIMIT for part in grown.values()) else 1


def measure(steps: int, samples: int) -> list[Sample]:
    """Builds, serves, and trains in a fresh browser."""
    with tempfile.TemporaryDirectory() as scratch, Host(site.build()) as host, \
            sync_playwright() as playwright, \
            Chromium(playwright, system.chromium(), Path(scratch),
                     flags=STEADY_CODE) as browser:
        tab = open_watched(Tab(browser.context, host.url))
        found = watch(tab, steps, samples, sample_steps=100, eval_steps=100, save_steps=200)
        tab.check_failure()
        return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
