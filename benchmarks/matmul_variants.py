"""Matrix products in blocks of every size, on this machine's two adapters.

    python3 build.py bench matmul_variants --runtime native --shapes square
    python3 build.py bench matmul_variants --runtime browser --shapes forward --json rows.json

`gpu/variants.py` offers the blocks that win somewhere here. `native` is WebGPU in CPython (naga),
`browser` is Python in a tab of Chromium (Tint). Each number is the fastest of a few rounds; errors
are against the float64 oracle, relative to the largest element.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.table import table
from tabgrad.gpu.autotune import measure_variant
from tabgrad.gpu.device import open_device
from tabgrad.gpu.variants import Blocks, Variant, candidates, kernel_of

BLOCKS = (Blocks(4, 4, 8), Blocks(4, 8, 8), Blocks(8, 8, 8), Blocks(8, 8, 4), Blocks(8, 16, 4),
          Blocks(16, 8, 4), Blocks(16, 16, 2))

# (op, M, N, K). One step of byte-tinygpt at B=4, T=64 has 256 rows and 128 channels.
SHAPES = {
    "square": [("matmul_nt_naive", 256, 256, 256), ("matmul_nt_naive", 512, 512, 512),
               ("matmul_nt", 256, 256, 256), ("matmul_nt", 512, 512, 512)],
    "odd": [("matmul_nt_any", 256, 256, 256), ("matmul_nt_any", 257, 251, 255)],
    "forward": [("linear", 256, 384, 128), ("linear_residual", 256, 128, 128),
                ("linear_gelu", 256, 512, 128), ("linear_residual", 256, 128, 512),
                ("matmul_nt", 256, 256, 128)],
    "input": [("matmul_nn", 256, 128, 384), ("matmul_nn", 256, 128, 128),
              ("matmul_nn", 256, 512, 128), ("matmul_nn", 256, 128, 512),
              ("matmul_nn", 256, 128, 256)],
    "weight": [("matmul_tn", 384, 128, 256), ("matmul_tn", 128, 128, 256),
               ("matmul_tn", 512, 128, 256), ("matmul_tn", 128, 512, 256),
               ("matmul_tn", 256, 128, 256)],
    "decode": [("linear", 1, 384, 128), ("linear_gelu", 1, 512, 128),
               ("linear_residual", 1, 128, 512), ("matmul_nt", 1, 256, 128)],
    # SmolLM2-135M: one position, and a prompt; weights as they are stored, beside float32.
    "stored_row": [(f"matmul_nt{dtype}", 1, n, k) for dtype in ("", ".bfloat16", ".float16")
                   for n, k in ((576, 576), (1536, 576), (576, 1536), (49152, 576))],
    "prefill": [(f"matmul_nt{dtype}", m, n, k) for dtype in ("", ".bfloat16", ".float16")
                for m in (64, 256) for n, k in ((1536, 576), (576, 1536))],
}


def variants_of(op: str, m: int, n: int, k: int) -> list[Variant]:
    """Every block size worth a row for one product."""
    if op == "matmul_nt_naive":
        return [Variant(op)]
    if "." in op or m == 1:
        return list(candidates(op, m, n, k))
    kernel = op if op.endswith("_any") else kernel_of(op, m, n, k)
    return [Variant(kernel, blocks.consts) for blocks in BLOCKS]


async def measure(shapes: list[str]) -> tuple[str, list[dict[str, Any]]]:
    """The adapter's name, and a row for each product and block size."""
    device = await open_device("webgpu")
    rows = []
    for product in [product for name in shapes for product in SHAPES[name]]:
        for variant in variants_of(*product):
            found = await measure_variant(device, product, variant)
            rows.append({"op": product[0], "m": product[1], "n": product[2], "k": product[3],
                         "consts": dict(variant.consts), "milliseconds": found.milliseconds,
                         "gflops": found.gflops, "error": found.error})
    device.close()
    return device.info.key, rows


def measure_in_chromium(shapes: list[str]) -> tuple[str, list[dict[str, Any]]]:
    """The same, by the same code, in a tab."""
    from playwright.sync_api import sync_playwright

    from tests.e2e.chromium import Chromium
    from tests.e2e.hosting import Host
    from tests.e2e.python_page import PythonPage, make_site
    from tools import environment, system
    own = Path(__file__).read_text(encoding="utf-8")
    # What stands above this function needs nothing but the package, which the page has.
    code = own.split("def measure_in_chromium")[0].replace(
        "from benchmarks.table import table\n", "")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch) / "site"
        folder.mkdir()
        address = make_site(folder, environment.python("build"))
        with Host(folder) as host, Chromium(playwright, system.chromium(),
                                            Path(scratch) / "profile") as browser:
            page = PythonPage(browser.context, host.url + address)
            adapter, rows = page(f"{code}\nawait measure({shapes!r})")
    return adapter, rows


def _blocks(consts: dict[str, int]) -> str:
    if "LANES" in consts:
        return f"{consts['COLUMNS']} columns in {consts['LANES']} x {consts['GROUP']}"
    return f"{consts['BLOCK_M']} x {consts['BLOCK_N']} in {consts['GROUP']}²" if consts else "-"


def print_rows(adapter: str, rows: list[dict[str, Any]]) -> None:
    """One line for each product and block size; the fastest of a product is marked."""
    best = {(row["op"], row["m"], row["n"], row["k"]): 0.0 for row in rows}
    for row in rows:
        key = (row["op"], row["m"], row["n"], row["k"])
        best[key] = max(best[key], row["gflops"])
    lines = []
    for row in rows:
        blocks = _blocks(row["consts"])
        mark = " *" if row["gflops"] == best[row["op"], row["m"], row["n"], row["k"]] else ""
        lines.append([row["op"], f"{row['m']} x {row['n']} x {row['k']}", blocks,
                      f"{row['milliseconds']:.2f}", f"{row['gflops']:.2f}{mark}",
                      f"{row['error']:.1e}"])
    print(f"adapter {adapter}\n")
    print(table(["op", "M x N x K", "block", "ms", "GFLOP/s", "largest error"], lines))


def main(arguments: list[str]) -> int:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--runtime", choices=["native", "browser"], default="native")
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args(arguments)
    if options.runtime == "native":
        adapter, rows = asyncio.run(measure(options.shapes))
    else:
        adapter, rows = measure_in_chromium(options.shapes)
    print_rows(adapter, rows)
    if options.json:
        options.json.write_text(json.dumps({"adapter": adapter, "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
