"""A run holds its memory: the short form of `build.py bench soak`."""

from __future__ import annotations

from tests.e2e.chromium import Chromium
from tests.e2e.memory_watch import drift, open_watched, watch
from tests.e2e.tab import Tab

LIMIT = 0.02


def test_memory_is_flat_over_200_steps(chromium: Chromium, site_url: str) -> None:
    """Samples and validations fall into the second quarter as into the last.

    Steps 201 to 400: before, the browser compiles and caches the page's code as it is first used,
    a hundred kilobytes that a heap of two megabytes shows.
    """
    tab = open_watched(Tab(chromium.context, site_url))
    found = watch(tab, steps=400, samples=80, sample_steps=25, eval_steps=25)[40:]
    grown = drift(found)
    print({name: f"{part:+.2%}" for name, part in grown.items()}, found[-1])
    assert found[-1].wasm > 2**20
    assert found[-1].gpu > 2**20
    assert all(abs(part) <= LIMIT for part in grown.values()), grown
    tab.check_clean()
    tab.close()
