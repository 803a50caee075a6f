"""Downloads in Chromium: network to OPFS to GPU, past Python's memory, from a host with faults."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.e2e.chromium import Chromium
from tests.e2e.python_page import PythonPage
from tests.faulty_host import Fault, FaultyHost

CHUNK = 16 * 2**20
CONTENT = np.random.default_rng(3).bytes(2 * CHUNK + 777)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILE = "m/model.safetensors"

GET = """
import json
from tabgrad import platform
from tabgrad.errors import TabgradError
import tabgrad_seam
tabgrad_seam.hubLimits.retryMs = 5
tabgrad_seam.hubLimits.stallMs = 20_000  # a busy machine is no silent host
here, files = platform.current(), platform.current().files("downloads")

async def names():
    return sorted(entry.name for entry in await files.list("a"))

async def get(url, **options):
    try:
        came = await here.download(files, url, "a/b", **options)
        return [came.size, came.sha256]
    except TabgradError as error:
        return [error.code, getattr(error, "kind", None), str(error)]
"""


@pytest.fixture(scope="module")
def page(chromium: Chromium, python_page_url: str) -> Iterator[PythonPage]:
    page = PythonPage(chromium.context, python_page_url)
    yield page
    page.close()


@pytest.fixture
def host() -> Iterator[FaultyHost]:
    with FaultyHost({FILE: CONTENT}) as host:
        yield host


def get(page: PythonPage, url: str, *, stall_ms: int | None = None,
        **options: Any) -> tuple[Any, list[str]]:
    """What a download of FILE gave, and what lies there afterwards; then the folder goes."""
    patience = f"tabgrad_seam.hubLimits.stallMs = {stall_ms}" if stall_ms else ""
    result, names = page(GET + f"""{patience}
result = [await get({url!r}, **json.loads({json.dumps(options)!r})), await names()]
await files.remove("a")
result
""")
    return result, names


@pytest.mark.parametrize("fault", [
    Fault(times=0),
    Fault(ranges=False),
    Fault(status=503, times=3),
    Fault(cut=1_000_000, times=3),
    Fault(exposed=False),
    Fault(no_etag=True),
    Fault(ranges=False, cut=CHUNK, times=1),
], ids=["none", "no ranges", "503", "cut", "not exposed", "no etag", "cut, no ranges"])
def test_a_file_arrives_whole(page: PythonPage, host: FaultyHost, fault: Fault) -> None:
    host.faults[FILE] = fault
    came, names = get(page, host.url + FILE, sha256=SHA256)
    assert came == [len(CONTENT), SHA256]
    assert names == ["b"]
    # A range needs no preflight, which a host behind a redirect would not answer.
    assert {each.method for each in host.asked} <= {"GET", "HEAD"}


WRONG = {
    "404": (Fault(status=404), {}, "NotFound", "has no model.safetensors"),
    "403": (Fault(status=403), {}, "Forbidden", "access token"),
    "500": (Fault(status=500), {}, "Status", "could not send"),
    "no CORS": (Fault(cors=False), {}, "Cors", "does not let web pages read"),
    "a web page": (Fault(html="type"), {}, "WebPage", "a web page in place of"),
    "a web page in disguise": (Fault(html="silent"), {}, "WebPage", "a web page in place of"),
    "another length": (Fault(times=0), {"size": 5}, "WrongSize", "does not have the length"),
    "another hash": (Fault(flip=70_000), {"sha256": SHA256}, "WrongHash", "SHA-256"),
    "truncated": (Fault(claim=len(CONTENT) + CHUNK), {}, "Truncated", "ends before"),
    "changed meanwhile": (Fault(etag='"new"', skip=2), {}, "Changed", "changed on"),
    "silence": (Fault(piece_s=2), {"stall_ms": 600}, "Network", "cannot be reached"),
}


@pytest.mark.parametrize("case", WRONG)
def test_each_fault_has_its_words_and_leaves_nothing(page: PythonPage, host: FaultyHost,
                                                     case: str) -> None:
    fault, options, kind, words = WRONG[case]
    host.faults[FILE] = fault
    (code, got, said), names = get(page, host.url + FILE, **options)
    assert (code, got) == ("download", kind) and words in said, said
    assert names == []


def check_token_stays_behind(page: PythonPage, host: FaultyHost) -> None:
    """A host that wants a token, and sends whoever has it to another origin."""
    with FaultyHost({"cdn/x": CONTENT}) as cdn:
        host.token = "hf_secret"
        host.faults[FILE] = Fault(redirect=cdn.url + "cdn/x")
        (_, kind, _), names = get(page, host.url + FILE)
        assert (kind, names, cdn.asked) == ("Forbidden", [], [])
        came, _ = get(page, host.url + FILE, headers={"Authorization": "Bearer hf_secret"})
        assert came == [len(CONTENT), SHA256]
        for one in cdn.asked:
            assert "hf_secret" not in str(one.headers), one


def test_a_token_does_not_follow_a_redirect(page: PythonPage, host: FaultyHost) -> None:
    check_token_stays_behind(page, host)


def test_redirects_are_followed(page: PythonPage, host: FaultyHost) -> None:
    with FaultyHost({"cdn/x": CONTENT}) as cdn:
        host.faults[FILE] = Fault(redirect=cdn.url + "cdn/x")
        came, _ = get(page, host.url + FILE)
        assert came == [len(CONTENT), SHA256]
        cdn.faults["cdn/x"] = Fault(cors=False)
        (_, kind, _), names = get(page, host.url + FILE)
        assert (kind, names) == ("Cors", [])


def test_a_host_that_is_not_there(page: PythonPage) -> None:
    with FaultyHost({}) as gone:
        pass
    (_, kind, said), names = get(page, gone.url + FILE)
    assert kind == "Network" and "cannot be reached" in said and names == []


def test_small_files_and_the_first_bytes(page: PythonPage, host: FaultyHost) -> None:
    host.files["m/config.json"] = b'{"a": 1}'
    for fault in (Fault(times=0), Fault(exposed=False), Fault(ranges=False)):
        host.faults[FILE] = fault
        small, data, size, said = page(GET + f"""
small = (await here.fetch_small({host.url + "m/config.json"!r}, 100)).decode()
start = await here.fetch_start({host.url + FILE!r}, 1000)
try:
    await here.fetch_small({host.url + FILE!r}, 1000)
except TabgradError as error:
    said = error.message
[small, start.data.hex(), start.size, said]
""")
        assert (small, bytes.fromhex(data), size) == ('{"a": 1}', CONTENT[:1000], len(CONTENT))
        assert "does not have the length" in said


def test_a_cancelled_download_goes_on(page: PythonPage, host: FaultyHost) -> None:
    host.faults[FILE] = Fault(piece_s=0.02)
    code, kept = page(GET + f"""
from tabgrad.platform.transfer import Cancel
cancel = Cancel()
said = await get({host.url + FILE!r}, cancel=cancel,
                 progress=lambda done, total: done > {CHUNK} and cancel.cancel())
[said[0], await names()]
""")
    assert (code, kept) == ("cancelled", ["b.part", "b.part.journal"])
    host.faults.clear()
    before = len(host.asked)
    came, names = get(page, host.url + FILE)
    assert came == [len(CONTENT), SHA256] and names == ["b"]
    assert 1 <= len(host.asked) - before <= 2  # of three ranges


def test_a_full_disk(page: PythonPage, host: FaultyHost) -> None:
    session = page.page.context.new_cdp_session(page.page)
    origin = page.page.evaluate("location.origin")
    used = page.page.evaluate("async () => (await navigator.storage.estimate()).usage")
    try:
        session.send("Storage.overrideQuotaForOrigin",
                     {"origin": origin, "quotaSize": used + 2**20})
        (code, _, said), names = get(page, host.url + FILE)
        assert code == "storage" and "no room" in said and names == []
    finally:
        session.send("Storage.overrideQuotaForOrigin", {"origin": origin})
        session.detach()
    came, _ = get(page, host.url + FILE)
    assert came == [len(CONTENT), SHA256]


def test_a_second_tab_is_told(chromium: Chromium, page: PythonPage, host: FaultyHost,
                              python_page_url: str) -> None:
    slow = host.faults[FILE] = Fault(piece_s=0.3)
    other = PythonPage(chromium.context, python_page_url)
    page(GET + f"""
import asyncio, builtins
builtins.flight = asyncio.ensure_future(get({host.url + FILE!r}))
while not await names():
    await asyncio.sleep(0.01)
""")
    (_, kind, said), _ = other(GET + f"[await get({host.url + FILE!r}), 0]")
    assert kind == "Busy" and "another tab" in said
    other.close()
    slow.piece_s = 0
    assert page(GET + "import builtins\nawait builtins.flight") == [len(CONTENT), SHA256]
    page(GET + 'await files.remove("a")')


def test_a_dropped_file_is_copied(page: PythonPage) -> None:
    assert page(GET + """
import js
from pyodide.ffi import to_js
data = bytes(range(256)) * 100_000
file = js.File.new([to_js(data)], "x.safetensors")
import hashlib
told = []
came = await here.adopt(files, file, "a/b", progress=lambda done, total: told.append(done))
result = [came.sha256 == hashlib.sha256(data).hexdigest(), await files.read("a/b") == data,
          told[-1] == len(data), await names()]
await files.remove("a")
result
""") == [True, True, True, ["b"]]
