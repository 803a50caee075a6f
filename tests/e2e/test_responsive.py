"""The page answers while it trains: Pause is prompt, nothing blocks, and a hidden tab goes on."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Playwright, expect

from tests.e2e import passes
from tests.e2e.chromium import Chromium
from tests.e2e.tab import Tab

pytestmark = pytest.mark.alone

PAUSE_MS = 250
LONGEST_TASK_MS = 200
HIDDEN_SECONDS = 6
PROMPT = "Good morning, said the otter."

# Tasks of the main thread over 50 ms, from now on.
_WATCH = """() => {
  window.testTasks = [];
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      window.testTasks.push([startTime, duration]);
    }
  }).observe({ type: "longtask" });
}"""
# A task that is too long, to see that it would be noticed.
_BLOCK = """() => setTimeout(() => {
  const end = performance.now() + 120;
  while (performance.now() < end);
})"""


@pytest.fixture(scope="class")
def running(booted: Tab) -> Iterator[str]:
    """A long run of the model that the other libraries are compared on."""
    after = booted.mark()
    run = booted.train(booted.boot["corpora"][0]["sha256"], preset="byte-tinygpt",
                       max_steps=100_000, sample_steps=20, eval_steps=25)
    booted.wait_for_step(3, after=after)
    yield run
    booted.command("stop")


@pytest.fixture
def training(running: str, tab: Tab) -> Tab:
    """The page in the middle of it."""
    tab.wait_for("progress", run=running)
    return tab


class TestWhileItTrains:
    """One run for both."""

    def test_pause_is_prompt(self, training: Tab) -> None:
        moments = random.Random(2)
        slowest = 0.0
        for _ in range(8):
            training.page.wait_for_timeout(moments.uniform(100, 900))
            step_ms = training.messages("progress")[-1]["step_ms"]
            reply = training.command("pause")
            slowest = max(slowest, training.reply_ms - step_ms)
            assert reply["state"] == "paused"
            assert training.reply_ms <= step_ms + PAUSE_MS
            after = training.mark()
            training.page.wait_for_timeout(150)
            assert not [m for _, m in training.seen[after:] if m["name"] == "progress"]
            assert training.command("resume")["state"] == "running"
        print(f"Pause took at most a step and {slowest:.0f} ms")

    def test_no_long_task_and_typing_works(self, training: Tab) -> None:
        """A visitor walks through the places and types, while the model trains and samples."""
        page = training.page
        page.evaluate(_WATCH)
        page.get_by_role("link", name=re.compile("^Generate")).click()
        prompt = page.get_by_role("textbox", name="Prompt")
        prompt.click()
        page.keyboard.type(PROMPT, delay=60)
        expect(prompt).to_have_value(PROMPT)
        after = training.mark()
        page.get_by_role("link", name="Open the Device panel").click()
        page.get_by_role("link", name=re.compile("^Train")).click()
        page.get_by_role("button", name="Table").click()
        page.get_by_role("button", name="Chart").click()
        training.wait_for("sample", after=after)
        training.wait_for("validation", after=after)
        page.wait_for_timeout(500)
        tasks = page.evaluate("() => window.testTasks")
        longest = max((duration for _, duration in tasks), default=0)
        page.evaluate(_BLOCK)
        for _ in range(50):  # a busy machine may tell of it late
            page.wait_for_timeout(100)
            if len(page.evaluate("() => window.testTasks")) > len(tasks):
                break
        else:
            raise AssertionError("a long task would not be seen")
        print(f"{len(tasks)} tasks over 50 ms, the longest {longest:.0f} ms")
        assert longest <= LONGEST_TASK_MS


def test_a_hidden_tab_trains_on(playwright: Playwright, chromium_path: str, site_url: str,
                                tmp_path: Path) -> None:
    """Behind another tab it trains at its pace, saves, and says on return what it did."""
    with Chromium(playwright, chromium_path, tmp_path, plain=True) as browser:
        passes.give(browser, site_url)
        tab = Tab(browser.context, site_url).open()
        run = tab.train(tab.boot["corpora"][0]["sha256"], max_steps=100_000)
        tab.wait_for_step(20)
        other = browser.context.new_page()
        other.bring_to_front()
        tab.page.wait_for_timeout(300)
        assert tab.page.evaluate("() => document.visibilityState") == "hidden"
        after = tab.mark()
        tab.wait_for("checkpoint", after=after, run=run)
        first = tab.messages("progress")[-1]["step"]
        tab.page.wait_for_timeout(HIDDEN_SECONDS * 1000)
        last = tab.messages("progress")[-1]
        made, pace = last["step"] - first, HIDDEN_SECONDS * 1000 / last["step_ms"]
        tab.page.bring_to_front()
        expect(tab.page.get_by_text(re.compile(r"^Trained .+ steps while this tab was hidden\.$"))
               ).to_be_visible()
        print(f"{made} steps hidden, {pace:.0f} expected")
        assert made > pace / 2
        tab.check_clean()
