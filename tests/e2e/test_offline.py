"""A first visit tests this adapter; the second needs neither that nor a network: the service worker
keeps the files of this build."""

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
# How many presets there are, why the CPU is used if it is, and how often the self-test spoke.
_READY = """async () => {
  while (window.tabgrad === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  const tested = [];
  window.tabgrad.onMessage(({ name, stage, done }) => {
    if (name === "stage" && stage === "self-test") tested.push(done);
  });
  const { presets, device } = await window.tabgrad.ready();
  return JSON.stringify([presets.length, device.fallback, tested.length]);
}"""


def test_a_second_visit_works_without_the_host(chromium: Chromium, built_site: Path) -> None:
    page = chromium.context.new_page()
    with Host(built_site) as host:
        page.goto(f"{host.url}?sw=1")
        presets, fallback, tested = json.loads(page.evaluate(_READY))
        assert (presets, fallback) == (len(PRESETS), None)
        assert tested > 1, "a fresh profile knows no pass"
        page.evaluate(_WAIT)
        names, kept = json.loads(page.evaluate(_KEPT))
        (manifest,) = built_site.glob("site-*/files.json")
        listed = json.loads(manifest.read_text())
        assert names == [f"tabgrad /some/where/ {listed['build']}"]
        wanted = {host.url + entry["url"] for entry in listed["files"].values()}
        assert wanted <= set(kept) and f"{host.url}index.html" in kept
    # The host is gone now.
    page.goto(f"{host.url}?sw=1")
    presets, fallback, tested = json.loads(page.evaluate(_READY))
    assert (presets, fallback) == (len(PRESETS), None)
    assert tested <= 1, "what passed is remembered"
    page.close()
