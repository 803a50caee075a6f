"""The same built page in Firefox: another WGSL compiler, another OPFS; and with WebGPU off."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from playwright.sync_api import BrowserContext

from tests.e2e.firefox.browser import Firefox
from tests.e2e.tab import POLL_MS, Tab

STEPS = 20
SETTINGS = {"max_steps": STEPS, "save_steps": 10}
WORDS = "() => document.body.innerText"
WORDS_SECONDS = 60


def open_tab(firefox: Firefox, url: str) -> Tab:
    """The booted page."""
    return Tab(cast(BrowserContext, firefox), url).open()


def wait_for_words(tab: Tab, *expected: str) -> None:
    """Waits until the page shows all of them: it draws what changed in its next frame."""
    late = time.monotonic() + WORDS_SECONDS
    while missing := [part for part in expected if part not in tab.page.evaluate(WORDS)]:
        assert time.monotonic() < late, f"not shown: {missing}; shown: {tab.page.evaluate(WORDS)}"
        tab.page.wait_for_timeout(POLL_MS)


@pytest.fixture
def with_webgpu(tmp_path: Path) -> Iterator[Firefox]:
    """A Firefox whose WebGPU is switched on."""
    with Firefox(tmp_path) as browser:
        yield browser


@pytest.fixture
def without_webgpu(tmp_path: Path) -> Iterator[Firefox]:
    """A Firefox as it comes here: no WebGPU."""
    with Firefox(tmp_path, webgpu=False) as browser:
        yield browser


def test_trains_resumes_and_writes_on_webgpu(with_webgpu: Firefox, site_url: str) -> None:
    """Boots, passes the self-test on this adapter, trains, reloads, resumes, generates."""
    tab = open_tab(with_webgpu, site_url)
    assert tab.boot["device"]["runtime"] == "browser"
    assert tab.boot["device"]["fallback"] is None
    text = tab.shortest_text()
    whole = tab.train(text, **SETTINGS)
    tab.wait_for("done", run=whole)
    expected = tab.losses()
    assert sorted(expected) == list(range(1, STEPS + 1))
    assert expected[STEPS] < expected[1]

    after = tab.mark()
    run = tab.train(text, **SETTINGS)
    tab.wait_for("checkpoint", after=after, run=run, step=STEPS // 2)
    tab.reload()
    (found,) = [known for known in tab.boot["runs"] if known["run"] == run]
    assert found["step"] >= STEPS // 2
    reply = tab.command("restore", run=run, train=not found["complete"])
    if not found["complete"]:
        tab.wait_for("done", run=run, step=STEPS)
    before = {point["step"]: point["loss"] for point in reply["history"]["points"]}
    assert before | tab.losses() == expected

    texts = [tab.command("generate", run=name, prompt="The ", max_new_tokens=24, temperature=0.0,
                         top_k=0, seed=0)["text"] for name in (whole, run)]
    assert texts[0] == texts[1] != ""
    tab.check_clean()


def test_trains_on_the_cpu_without_webgpu(without_webgpu: Firefox, site_url: str) -> None:
    """Says which switch would help, chooses the smallest model, and trains it."""
    tab = open_tab(without_webgpu, site_url)
    assert tab.boot["device"]["runtime"] == "numpy"
    assert tab.boot["device"]["fallback"]
    wait_for_words(tab, "CPU")
    tab.page.evaluate("() => { location.hash = '#/device'; }")
    wait_for_words(tab, "no WebGPU", "dom.webgpu.enabled")
    run = tab.train(tab.shortest_text(), max_steps=5, per_device_train_batch_size=2)
    tab.wait_for("done", run=run, step=5)
    losses = tab.losses()
    assert losses[5] < losses[1]
    reply = tab.command("generate", run=run, prompt="The ", max_new_tokens=4, temperature=0.0,
                        top_k=0, seed=0)
    assert reply["tokens"] == 4
    tab.check_clean()
