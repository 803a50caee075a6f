"""Models in Chromium: 300 MB past Python's memory, a second start without a network, a kill."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Playwright

from tests import tiny_model
from tests.e2e.chromium import Chromium
from tests.e2e.python_page import PythonPage
from tests.e2e.worker_probe import WorkerSession
from tests.faulty_host import Fault, FaultyHost

MIB = 2**20
MODEL = "someone/large"
MATRICES, ROWS, COLUMNS = 3, 6400, 4096  # of 105 MB each
BEGIN = """
import builtins, json
import pyodide_js
from tabgrad import platform
from tabgrad.checkpoint.hub import resolve
from tabgrad.checkpoint.models import ModelStore
from tabgrad.errors import TabgradError

store = ModelStore(platform.current().files("models-test"))
builtins.wasm = lambda: pyodide_js._module.HEAPU8.length
"""


def files(weights: Any) -> dict[str, Any]:
    return {**tiny_model.folder(), tiny_model.WEIGHTS: weights}


class Peak:
    """The most memory that the page's worker had while something ran there."""

    def __init__(self, python: PythonPage) -> None:
        self._session = WorkerSession(SimpleNamespace(  # type: ignore[arg-type]
            page=python.page, context=python.page.context))
        self.javascript = 0

    def look(self) -> None:
        """JavaScript objects and array buffers; WebAssembly's memory does not count among them."""
        used = self._session.send("Runtime.getHeapUsage")
        self.javascript = max(self.javascript, used["usedSize"] + used["backingStorageSize"])

    def close(self) -> None:
        self._session.close()


def watched(python: PythonPage, code: str) -> tuple[Any, int, int]:
    """Runs code (its `result`) while looking at the worker's memory: the result, how far the
    WebAssembly memory grew, and the peak of JavaScript's."""
    before = python("import builtins\nbuiltins.wasm()")
    peak = Peak(python)
    python(BEGIN + "import asyncio\nasync def work():\n"
           + "".join(f"    {line}\n" for line in code.strip().splitlines())
           + "    return result\nbuiltins.flight = asyncio.ensure_future(work())\n0")
    while True:
        if python("import builtins\nbuiltins.flight.done()"):
            break
        peak.look()
        python.page.wait_for_timeout(50)
    result = python("import builtins\nbuiltins.flight.result()")
    peak.close()
    return result, python("import builtins\nbuiltins.wasm()") - before, peak.javascript


def test_300_mb_go_past_pythons_memory(chromium: Chromium, python_page_url: str) -> None:
    weights = tiny_model.large(MATRICES, ROWS, COLUMNS)
    assert weights.size > 300e6
    with FaultyHost(tiny_model.on_hub(MODEL, files(weights))) as host:
        python = PythonPage(chromium.context, python_page_url)
        python(BEGIN + "0")
        (bytes_here, told, rose), wasm, javascript = watched(python, f"""
moments = []
record = await store.download(resolve({MODEL!r}, {host.url.rstrip("/")!r}), moments.append)
done = [moment.done for moment in moments]
result = [record.bytes, done[-1], done == sorted(done)]
""")
        print(f"download: WASM +{wasm / MIB:.0f} MiB, JavaScript at most "
              f"{javascript / MIB:.0f} MiB")
        assert bytes_here == told == sum(len(each) if isinstance(each, bytes) else each.size
                                         for name, each in files(weights).items()
                                         if name != "README.md") and rose
        assert wasm < 64 * MIB and javascript < 200 * MIB
        asked = len(host.asked)
        got, wasm, javascript = watched(python, f"""
from tabgrad.gpu.device import open_device
device = await open_device("webgpu")
(record,) = await store.list()
model = await store.open(record.name)
got = []
for name, tensor in model.tensors.items():
    region = device.allocate(tensor.size, name).region
    await model.upload(tensor, region)
    for offset in (0, 50 * {MIB}, tensor.size - 4096):
        got.append([tensor.offset + offset, (await device.read(region.part(offset, 4096))).hex()])
device.close()
result = got
""")
        print(f"upload: WASM +{wasm / MIB:.0f} MiB, JavaScript at most {javascript / MIB:.0f} MiB")
        assert len(got) == 3 * MATRICES
        for offset, data in got:
            assert bytes.fromhex(data) == b"".join(weights.pieces(offset, offset + 4096))
        assert wasm < 64 * MIB and javascript < 200 * MIB
        assert len(host.asked) == asked, "a model that is here asks nobody"
        assert python(BEGIN + "await store.delete((await store.list())[0].name)\n"
                      "[len(await store.list()), await store._files.list('models')]") == [0, []]
        python.close()


@pytest.mark.parametrize("case", ["2^60", "truncated", "unknown", "cors", "folder"])
def test_what_cannot_be_is_refused_in_words(browser_python: PythonPage, case: str) -> None:
    content = tiny_model.folder()
    words = {"2^60": "header is too long", "truncated": "length its header says",
             "unknown": "mystery", "cors": "does not let web pages read",
             "folder": "has no config.json"}[case]
    if case == "2^60":
        content[tiny_model.WEIGHTS] = (2**60).to_bytes(8, "little") + b"{}"
    elif case == "truncated":
        content[tiny_model.WEIGHTS] = content[tiny_model.WEIGHTS][:-3]
    elif case == "unknown":
        content["config.json"] = b'{"model_type": "mystery"}'
    elif case == "folder":
        content.clear()
    with FaultyHost(tiny_model.at("m/x", content)) as host:
        if case == "cors":
            host.faults["m/x/config.json"] = Fault(cors=False)
        said, listed, unfinished = browser_python(BEGIN + f"""
try:
    await store.download(resolve({host.url + "m/x/"!r}))
    said = ""
except TabgradError as error:
    said = str(error)
[said, len(await store.list()), len(await store.unfinished())]
""")
    assert words in said and (listed, unfinished) == (0, 0)


def test_a_killed_browser_goes_on(playwright: Playwright, chromium_path: str,
                                  python_page_url: str, tmp_path: Path) -> None:
    weights = tiny_model.large(2, 2560, 4096)  # 84 MB: six ranges
    with FaultyHost(tiny_model.on_hub(MODEL, files(weights))) as host:
        path = next(path for path in host.files if path.endswith("12/model.safetensors"))
        host.faults[path] = Fault(piece_s=0.02, skip=1)
        code = BEGIN + f"source = resolve({MODEL!r}, {host.url.rstrip('/')!r})\n"
        with Chromium(playwright, chromium_path, tmp_path) as first:
            python = PythonPage(first.context, python_page_url)
            python(code + "import asyncio\n"
                   "builtins.flight = asyncio.ensure_future(store.download(source))\n"
                   f"journal = 'models/someone--large/{tiny_model.WEIGHTS}.part.journal'\n"
                   "async def pieces():\n"
                   "    here = await store._files.exists(journal)\n"
                   "    try:\n"
                   "        text = await store._files.read(journal) if here else b''\n"
                   "    except TabgradError:  # it is being written at this very moment\n"
                   "        text = b''\n"
                   "    return text.count(b'\\n') - 1\n"
                   "while await pieces() < 2:\n    await asyncio.sleep(0.02)\n0")
            first.kill()
        host.faults.clear()
        host.asked.clear()
        with Chromium(playwright, chromium_path, tmp_path) as second:
            python = PythonPage(second.context, python_page_url)
            listed, unfinished = python(code + "[len(await store.list()), "
                                        "len(await store.unfinished())]")
            assert (listed, unfinished) == (0, 1)
            record = python(code + "record = await store.download(source)\n"
                            "model = await store.open(record.name)\n"
                            "[record.files['model.safetensors'].sha256, len(model.tensors)]")
            python.close()
    assert record == [weights.sha256, 2]
    ranges = [each for each in host.gets(path) if each.span and each.span[1] > 2**16]
    assert 1 <= len(ranges) <= 4, f"{len(ranges)} of 6 ranges came again"
