"""The second visit needs no network: the service worker keeps the files of this build."""

from __future__ import annotations

import json
from pathlib import Path

from tabgrad.models.recipe import PRESETS
from tests.e2e.chromium import Chromium
from tests.e2e.hosting import Host

_WAIT = "async () => { await navigator.serviceWorker.ready; }"
_KEPT = """async () => {
  const names = (await caches.keys()).filter((name) => name.startsWith("tabgrad "));
  const keys = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
  return JSON.stringify([names, keys.flat().map((request) => request.url)]);
}"""
_READY = """async () => {
  while (window.tabgrad === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  return JSON.stringify((await window.tabgrad.ready()).presets.length);
}"""


def test_a_second_visit_works_without_the_host(chromium: Chromium, built_site: Path) -> None:
    page = chromium.context.new_page()
    with Host(built_site) as host:
        page.goto(f"{host.url}?sw=1")
        page.evaluate(_READY)
        page.evaluate(_WAIT)
        names, kept = json.loads(page.evaluate(_KEPT))
        (manifest,) = built_site.glob("site-*/files.json")
        listed = json.loads(manifest.read_text())
        assert names == [f"tabgrad /some/where/ {listed['build']}"]
        wanted = {host.url + entry["url"] for entry in listed["files"].values()}
        assert wanted <= set(kept) and f"{host.url}index.html" in kept
    # The host is gone now.
    page.goto(f"{host.url}?sw=1")
    assert json.loads(page.evaluate(_READY)) == len(PRESETS)
    page.close()
