"""The Device panel's benchmark: every kernel is right, and the best one is worth having."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.tab import Tab

SIZE = 256
ERROR = 1e-5
NAIVE = "one thread an output"


def test_the_best_kernel_beats_the_naive_one(tab: Tab) -> None:
    rows = {row["name"]: row for row in tab.command("benchmark", size=SIZE)["rows"]}
    assert {"NumPy", NAIVE} < rows.keys()
    assert all(0 <= row["error"] < ERROR for row in rows.values()), rows
    for row in rows.values():
        assert row["gflops"] == pytest.approx(2 * SIZE**3 / row["milliseconds"] / 1e6, rel=1e-6)
    kernels = {name: row["gflops"] for name, row in rows.items() if name != "NumPy"}
    best = max(kernels, key=lambda name: kernels[name])
    print({name: f"{value:.2f}" for name, value in kernels.items()}, rows["NumPy"]["gflops"])
    assert kernels[best] > 3 * kernels[NAIVE]


def test_the_panel_shows_the_table(tab: Tab) -> None:
    page = tab.page
    page.get_by_role("link", name="Open the Device panel").click()
    page.get_by_role("button", name="Measure").click()
    table = page.locator("#benchmark-table")
    expect(table.get_by_role("rowheader", name="NumPy")).to_be_visible(timeout=60_000)
    expect(table.get_by_role("rowheader", name=NAIVE)).to_be_visible()
    expect(table.get_by_role("cell", name=re.compile("^512")).first).to_be_visible()
