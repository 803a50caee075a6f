"""Whatever ends a run in the middle, it goes on from its last checkpoint with the same bits."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from playwright.sync_api import Playwright

from tests.e2e import passes
from tests.e2e.chromium import Chromium
from tests.e2e.tab import Tab

STEPS = 20
HALF = 10
SLOW = {"preset": "byte-tinygpt", "max_steps": STEPS, "save_steps": HALF}
RANDOM_KILLS = 20


@pytest.fixture(scope="module")
def text(booted: Tab) -> str:
    """The shorter of the page's own texts."""
    return booted.shortest_text()


@pytest.fixture(scope="module")
def unbroken(booted: Tab, text: str) -> dict[int, float]:
    """The losses of a run that nothing interrupts, by step."""
    after = booted.mark()
    run = booted.train(text, **SLOW)
    booted.wait_for("done", after=after, run=run)
    return booted.losses(after)


def test_a_killed_browser_costs_no_bit(
        playwright: Playwright, chromium_path: str, site_url: str, tmp_path: Path,
        unbroken: dict[int, float], text: str) -> None:
    """20 steps = 10 steps, a kill, a new browser with the same profile, and 10 more."""
    with Chromium(playwright, chromium_path, tmp_path) as browser:
        passes.give(browser, site_url)
        tab = Tab(browser.context, site_url).open()
        run = tab.train(text, **SLOW)
        tab.wait_for("checkpoint", run=run, step=HALF)
        browser.kill()
    with Chromium(playwright, chromium_path, tmp_path) as browser:
        tab = Tab(browser.context, site_url).open()
        (found,) = tab.boot["runs"]
        assert (found["run"], found["step"], found["complete"]) == (run, HALF, False)
        reply = tab.command("restore", run=run, train=True)
        before = {point["step"]: point["loss"] for point in reply["history"]["points"]}
        tab.wait_for("done", run=run, step=STEPS)
        again = tab.losses()
        tab.check_clean()
    assert sorted(before) == list(range(1, HALF + 1))
    assert sorted(again) == list(range(HALF + 1, STEPS + 1))
    assert before | again == unbroken


def test_a_lost_gpu_costs_no_bit(visitor: Chromium, site_url: str, text: str,
                                 unbroken: dict[int, float]) -> None:
    """The GPU process dies in mid-run; nobody presses anything, and training goes on."""
    tab = Tab(visitor.context, site_url).open()
    run = tab.train(text, **SLOW)
    tab.wait_for_step(HALF + 3)
    process = visitor.gpu_process()
    visitor.kill_gpu_process()
    tab.wait_for("done", run=run, step=STEPS)
    assert visitor.gpu_process() != process
    steps = [point["step"] for message in tab.messages("progress") for point in message["points"]]
    assert steps.count(HALF + 1) == 2, "it went on from the last checkpoint"
    assert tab.losses() == unbroken
    # Chromium itself warns in the console about the device that it lost.
    own = [problem for problem in tab.problems if not problem.startswith("console warning")]
    assert own == []


def test_a_browser_killed_at_any_moment_leaves_a_whole_checkpoint(
        playwright: Playwright, chromium_path: str, site_url: str, tmp_path: Path) -> None:
    """20 kills around the writing of checkpoints; the run opens each time, never behind what was
    reported as saved, and steps that are taken again have the same losses.

    On the CPU path, whose start compiles no kernels: the files are the same.
    """
    moments = random.Random(1)
    settings = {"max_steps": 100_000, "save_steps": 2, "per_device_train_batch_size": 1,
                "context_length": 16, "lr_scheduler_type": "constant"}
    run, saved = "", 0
    losses: dict[int, float] = {}
    for number in range(RANDOM_KILLS):
        with Chromium(playwright, chromium_path, tmp_path) as browser:
            tab = Tab(browser.context, site_url).open("?device=numpy")
            if number == 0:
                run = tab.train(tab.shortest_text(), **settings)
            else:
                (found,) = tab.boot["runs"]
                assert found["step"] >= saved, f"kill {number}: a saved checkpoint is gone"
                points = tab.command("restore", run=run, train=True)["history"]["points"]
                assert [point["step"] for point in points] == list(range(1, found["step"] + 1))
                _same(losses, {point["step"]: point["loss"] for point in points})
            tab.wait_for("checkpoint", run=run)
            time.sleep(moments.uniform(0, 0.4))
            _same(losses, tab.losses())
            saved = max(message["step"] for message in tab.messages("checkpoint"))
            browser.kill()
    assert len(losses) >= RANDOM_KILLS


def _same(known: dict[int, float], seen: dict[int, float]) -> None:
    """Adds the losses of new steps; those of known steps must have the same bits."""
    assert {step: known[step] for step in seen if step in known} \
        == {step: loss for step, loss in seen.items() if step in known}
    known.update(seen)
