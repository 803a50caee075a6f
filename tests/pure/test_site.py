"""The built site: addresses by content, a policy that fits the page, a careful local server."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tools import kernel_headers, page, policy
from tools.bundles import Bundle
from tools.server import Server
from tools.shell import BuildError

SOURCE = """<!doctype html><html><head><meta charset="utf-8">
<link rel="stylesheet" href="./style/page.css"><script type="module" src="app/main.js"></script>
</head><body><a href="#/train">Train</a> <img src="data:image/gif;base64,AA"></body></html>"""
ADDRESSES = {"style/page.css": "site-1/style/page.css", "app/main.js": "site-1/app/main.js",
             "uplot/uPlot.esm.js": "uplot-2/uPlot.esm.js"}
IMPORTS = {"uplot": "uplot/uPlot.esm.js"}


def test_the_page_gets_real_addresses() -> None:
    built = page.publish(SOURCE, ADDRESSES, IMPORTS)
    assert 'href="site-1/style/page.css"' in built and 'src="site-1/app/main.js"' in built
    assert 'href="#/train"' in built and "data:image/gif" in built
    assert built.index("importmap") < built.index("app/main.js")


def test_the_policy_allows_the_import_map_and_no_other_inline_script() -> None:
    built = page.publish(SOURCE, ADDRESSES, IMPORTS)
    (import_map,) = re.findall(r'<script type="importmap">(.*?)</script>', built)
    assert json.loads(import_map) == {"imports": {"uplot": "./uplot-2/uPlot.esm.js"}}
    wanted = base64.b64encode(hashlib.sha256(import_map.encode()).digest()).decode()
    rules = dict(rule.split(" ", 1) for rule in page.policy_of(built).split("; "))
    assert rules["script-src"] == f"'self' 'sha256-{wanted}'"
    assert rules["default-src"] == "'none'"
    # Models come from any https host, or from this computer; code never.
    hosts = ["'self'", "https:", "http://localhost:*", "http://127.0.0.1:*"]
    assert rules["connect-src"].split(" ") == hosts
    worker = dict(rule.split(" ", 1) for rule in policy.WORKER.split("; "))
    assert worker["connect-src"].split(" ") == hosts
    assert worker["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert "unsafe-inline" not in built and "unsafe-eval" not in policy.WORKER.replace(
        "wasm-unsafe-eval", "")


@pytest.mark.parametrize("wrong, told", [
    (SOURCE.replace("app/main.js", "app/gone.js"), "app/gone.js"),
    (SOURCE.replace("<body>", "<body><script>1</script>"), "inline"),
    (SOURCE.replace("<body>", '<body style="color: red">'), "inline"),
    (SOURCE.replace("<body>", '<body onload="go()">'), "inline"),
    (SOURCE.replace('<meta charset="utf-8">', ""), "charset"),
])
def test_a_page_that_would_not_work_is_refused(wrong: str, told: str) -> None:
    with pytest.raises(BuildError, match=told):
        page.publish(wrong, ADDRESSES, IMPORTS)


def test_an_address_follows_the_content(tmp_path: Path) -> None:
    one = Bundle.of("corpus", "corpus", {"a.txt": b"a", "b/c.txt": b"c"})
    assert one == Bundle.of("corpus", "corpus", {"b/c.txt": b"c", "a.txt": b"a"})
    for files in ({"a.txt": b"A", "b/c.txt": b"c"}, {"a.txt": b"ab", "/c.txt": b"c"}):
        assert Bundle.of("corpus", "corpus", files).folder != one.folder
    one.write(tmp_path)
    entry = one.entries()["corpus/b/c.txt"]
    assert (tmp_path / str(entry["url"])).read_bytes() == b"c"
    assert entry["bytes"] == 1 and entry["sha256"] == hashlib.sha256(b"c").hexdigest()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    files = {f"file{suffix}": b"x" for suffix in
             (".js", ".mjs", ".wasm", ".whl", ".wgsl", ".json", ".css")}
    Bundle("", "site", "0123456789ab", files).write(tmp_path)
    built = page.publish(SOURCE, ADDRESSES, IMPORTS)
    (tmp_path / "index.html").write_text(built)
    return tmp_path


@pytest.mark.parametrize("suffix, kind", [
    (".js", "text/javascript; charset=utf-8"), (".mjs", "text/javascript; charset=utf-8"),
    (".wasm", "application/wasm"), (".whl", "application/zip"), (".json", "application/json"),
    (".wgsl", "text/plain; charset=utf-8"), (".css", "text/css; charset=utf-8"),
])
def test_the_server_sends_the_right_types(site: Path, suffix: str, kind: str) -> None:
    with Server(site) as server, urllib.request.urlopen(
            f"{server.url}site-0123456789ab/file{suffix}") as response:
        assert response.headers["Content-Type"] == kind
        assert "immutable" in response.headers["Cache-Control"]
        expected = policy.WORKER if "javascript" in kind else None
        assert response.headers["Content-Security-Policy"] == expected


def test_the_server_sends_the_page_with_its_own_policy(site: Path) -> None:
    refreshed = []
    with (Server(site, refresh=lambda: refreshed.append(1)) as server,
          urllib.request.urlopen(server.url) as response):
        text = response.read().decode()
        assert response.headers["Content-Security-Policy"] == page.policy_of(text)
        assert response.headers["Cache-Control"] == "no-cache"
    assert refreshed == [1]


def test_the_server_lists_no_folder_and_says_when_a_port_is_taken(site: Path) -> None:
    with Server(site) as server:
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(server.url + "site-0123456789ab/")
        with pytest.raises(BuildError, match="--port"):
            Server(site, server.http.server_port)


def test_a_kernel_whose_header_does_not_match_fails_the_build(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = kernel_headers.check()
    assert found == len(list((kernel_headers.WEB / "wgsl").glob("*.wgsl"))) > 10
    (tmp_path / "wgsl").mkdir()
    text = (kernel_headers.WEB / "wgsl" / "scale.wgsl").read_text()
    (tmp_path / "wgsl" / "scale.wgsl").write_text(text.replace("@binding(0)", "@binding(7)"))
    monkeypatch.setattr(kernel_headers, "WEB", tmp_path)
    with pytest.raises(BuildError, match="scale.wgsl"):
        kernel_headers.check()
