"""The device in Firefox: naga compiles, and readbacks do not wait for its 100 ms polls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest
from playwright.sync_api import BrowserContext

from tests.e2e.firefox.browser import Firefox
from tests.e2e.python_page import PythonPage


@pytest.fixture(scope="module")
def firefox_python(python_page_url: str,
                   tmp_path_factory: pytest.TempPathFactory) -> Iterator[PythonPage]:
    """Runs Python code in Pyodide, in a worker of Firefox."""
    with Firefox(tmp_path_factory.mktemp("firefox")) as browser:
        yield PythonPage(cast(BrowserContext, browser), python_page_url)


def test_every_kernel_equals_its_oracle(firefox_python: PythonPage) -> None:
    failed, count = firefox_python("""
from tabgrad.gpu.conformance import check_kernels
from tabgrad.gpu.device import open_device
device = await open_device("webgpu")
results = await check_kernels(device)
device.close()
[[[r.kernel, r.sizes, str(r.error), r.problem] for r in results if not r.passed], len(results)]
""")
    assert failed == []
    assert count > 50


def test_a_readback_is_quick(firefox_python: PythonPage) -> None:
    milliseconds = firefox_python("""
import statistics
from tabgrad import platform
from tabgrad.gpu.device import open_device
device = await open_device("webgpu")
x = device.allocate(256, "x").region
times = []
for _ in range(9):
    start = platform.current().now_ms()
    await device.read(x)
    times.append(platform.current().now_ms() - start)
device.close()
statistics.median(times)
""")
    assert milliseconds < 50


def test_files_round_trip(firefox_python: PythonPage) -> None:
    assert firefox_python("""
from tabgrad import platform
files = platform.current().files("test-files")
big = bytes(range(256)) * 40000
await files.write("runs/a/new", [big])
await files.write("runs/a/model", [b"old"])
await files.replace("runs/a/new", "runs/a/model")
same = await files.read("runs/a/model") == big
listed = [[e.name, e.is_folder, e.size] for e in await files.list("runs/a")]
await files.remove("runs")
[same, listed, await files.exists("runs")]
""") == [True, [["model", False, 10_240_000]], False]
