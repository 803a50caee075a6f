"""Matrix products in the tab: every kernel of ours beside NumPy in the same tab.

    python3 build.py bench matmul --size 512 --json matmul.json

The same measurement as the Device panel's button. Errors are against float64, relative to the
largest element.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.table import table
from tests.e2e.chromium import Chromium
from tests.e2e.hosting import Host
from tests.e2e.tab import Tab
from tools import site, system


def main(arguments: list[str]) -> int:
    """Measures each size in one page and prints a table for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, nargs="+", default=[512])
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args(arguments)
    adapter, rows = measure(options.size)
    print(f"adapter {adapter}\n")
    print(table(["what", "size", "ms", "GFLOP/s", "largest error"],
                [[row["name"], row["size"], f"{row['milliseconds']:.1f}", f"{row['gflops']:.2f}",
                  f"{row['error']:.1e}"] for row in rows]))
    if options.json:
        options.json.write_text(json.dumps({"adapter": adapter, "rows": rows}, indent=1))
    return 0


def measure(sizes: list[int]) -> tuple[str, list[dict[str, Any]]]:
    """The adapter's name, and the page's rows for each size."""
    with tempfile.TemporaryDirectory() as scratch, Host(site.build()) as host, \
            sync_playwright() as playwright, \
            Chromium(playwright, system.chromium(), Path(scratch)) as browser:
        tab = Tab(browser.context, host.url).open()
        rows = [row for size in sizes for row in tab.command("benchmark", size=size)["rows"]]
        return tab.boot["device"]["name"], rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
