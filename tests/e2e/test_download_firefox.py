"""Downloads and uploads in Firefox: other errors for the same faults, and its own file handles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest
from playwright.sync_api import BrowserContext

from tests import tiny_model
from tests.e2e.firefox.browser import Firefox
from tests.e2e.python_page import PythonPage
from tests.e2e.test_download_chromium import (
    CONTENT,
    FILE,
    SHA256,
    WRONG,
    check_token_stays_behind,
    get,
)
from tests.faulty_host import Fault, FaultyHost

MODEL = "someone/large"


@pytest.fixture(scope="module")
def page(python_page_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PythonPage]:
    with Firefox(tmp_path_factory.mktemp("firefox")) as browser:
        yield PythonPage(cast(BrowserContext, browser), python_page_url)


@pytest.fixture
def host() -> Iterator[FaultyHost]:
    with FaultyHost({FILE: CONTENT}) as host:
        yield host


@pytest.mark.parametrize("fault", [Fault(times=0), Fault(cut=1_000_000, times=3),
                                   Fault(exposed=False, ranges=False)],
                         ids=["none", "cut", "no ranges"])
def test_a_file_arrives_whole(page: PythonPage, host: FaultyHost, fault: Fault) -> None:
    host.faults[FILE] = fault
    came, names = get(page, host.url + FILE, sha256=SHA256)
    assert came == [len(CONTENT), SHA256] and names == ["b"]
    assert {each.method for each in host.asked} <= {"GET", "HEAD"}, "no preflight"


@pytest.mark.parametrize("case", ["404", "no CORS", "a web page", "another hash", "silence"])
def test_each_fault_has_its_words_and_leaves_nothing(page: PythonPage, host: FaultyHost,
                                                     case: str) -> None:
    fault, options, kind, words = WRONG[case]
    host.faults[FILE] = fault
    (code, got, said), names = get(page, host.url + FILE, **options)
    assert (code, got) == ("download", kind) and words in said, said
    assert names == []


def test_a_token_does_not_follow_a_redirect(page: PythonPage, host: FaultyHost) -> None:
    check_token_stays_behind(page, host)


def test_a_model_goes_from_its_host_to_the_gpu(page: PythonPage) -> None:
    weights = tiny_model.large(1, 2000, 5000)  # 40 MB: three pieces
    files = {**tiny_model.folder(), tiny_model.WEIGHTS: weights}
    with FaultyHost(tiny_model.on_hub(MODEL, files)) as host:
        offset, data = page(f"""
from tabgrad import platform
from tabgrad.checkpoint.hub import resolve
from tabgrad.checkpoint.models import ModelStore
from tabgrad.gpu.device import open_device
store = ModelStore(platform.current().files("models-test"))
record = await store.download(resolve({MODEL!r}, {host.url.rstrip("/")!r}))
model = await store.open(record.name)
tensor = model.tensors["0"]
device = await open_device("webgpu")
region = device.allocate(tensor.size, "0").region
await model.upload(tensor, region)
data = await device.read(region.part(tensor.size - 4096, 4096))
device.close()
await store.delete(record.name)
[tensor.offset + tensor.size - 4096, data.hex()]
""")
    assert bytes.fromhex(data) == b"".join(weights.pieces(offset, offset + 4096))
