"""A run holds its memory: the short form of `build.py bench soak`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Playwright

from tests.e2e import passes
from tests.e2e.chromium import Chromium
from tests.e2e.memory_watch import STEADY_CODE, Sample, drift, open_watched, watch
from tests.e2e.tab import Tab

LIMIT = 0.02
# A kilobyte for each step, held by a listener: 256 elements of 4 bytes.
LEAK = """() => {
  const kept = [];
  window.tabgrad.onMessage((message) => {
    if (message.name !== "progress") return;
    for (const { step } of message.points) kept.push(new Array(256).fill(step));
  });
}"""


@pytest.fixture(scope="module")
def steady(playwright: Playwright, chromium_path: str, site_url: str,
           tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser whose heap holds what the page keeps: its compiled code stays as it is."""
    profile = tmp_path_factory.mktemp("steady")
    with Chromium(playwright, chromium_path, profile, flags=STEADY_CODE) as browser:
        passes.give(browser, site_url)
        yield browser


def watch_steps(tab: Tab, steps: int) -> list[Sample]:
    """Samples and validations fall into the second quarter as into the last."""
    return watch(tab, steps=steps, samples=steps // 10, sample_steps=25, eval_steps=25)


def test_memory_is_flat_over_200_steps(steady: Chromium, site_url: str) -> None:
    """Objects of page and worker, Python's memory and GPU buffers."""
    tab = open_watched(Tab(steady.context, site_url))
    found = watch_steps(tab, 200)
    grown = drift(found)
    print({name: f"{part:+.2%}" for name, part in grown.items()}, found[-1])
    assert found[-1].wasm > 2**24, "Python has more"
    assert found[-1].gpu > 2**20
    assert all(abs(part) <= LIMIT for part in grown.values()), grown
    tab.check_clean()
    tab.close()


def test_a_leak_of_a_kilobyte_a_step_is_seen(steady: Chromium, site_url: str) -> None:
    """What the test above passes is not for want of looking closely."""
    tab = open_watched(Tab(steady.context, site_url))
    tab.page.evaluate(LEAK)
    grown = drift(watch_steps(tab, 150))
    print({name: f"{part:+.2%}" for name, part in grown.items()})
    assert grown["page_heap"] > LIMIT
    tab.check_clean()
    tab.close()
