"""Writing ids in the steady state: nothing is created, little is submitted, little comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

from tests.checkpoints import PROMPT, save
from tests.e2e.chromium import Chromium
from tests.e2e.hosting import Host
from tests.e2e.python_page import PythonPage, make_site
from tests.e2e.worker_probe import COUNTERS
from tools import environment

pytestmark = pytest.mark.alone

Ask: TypeAlias = Callable[[str], Any]
NEW = 64
LAYERS = 3
CODE = """
import asyncio, json
import js
from tabgrad import platform
from tabgrad.checkpoint.models import open_folder
from tabgrad.gpu.device import current_device, open_device
from tabgrad.generate.sampling import Sampling
from tabgrad.generate.session import Session
from tabgrad.checkpoint.load import load_decoder

GREEDY = Sampling(temperature=0.0)

def counts():
    return json.loads(js.JSON.stringify(js.gpuCounters.counts))

async def opened(window, chunks):
    files = platform.current().files("checkpoints")
    for name in FILES:
        address = js.URL.new("llama-float32/" + name, js.location.href).href
        await platform.current().download(files, address, "llama-float32/" + name)
    decoder = await load_decoder(current_device(), await open_folder(files, "llama-float32"))
    return Session(decoder, window, chunks)
"""
WRITE = """
session = await opened(160, (64,))
async for _ in session.generate(IDS, GREEDY, NEW):  # the warm-up
    pass
session.forget()
seen = []
async for drawn in session.generate(IDS, GREEDY, NEW):
    seen.append([len(drawn), counts()])
[session.plan.dispatches, seen]
"""
ABORT = """
session = await opened(256, (16,))
await session.prefill.compile(16)
wanted, at_stop = True, None

async def stop_soon():
    # In the middle of a chunk: its launches are on the GPU, its readback has not come.
    global wanted, at_stop
    start = counts()["dispatches"]
    while counts()["dispatches"] == start:
        await asyncio.sleep(0)
    wanted, at_stop = False, counts()["dispatches"]

stopper = asyncio.ensure_future(stop_soon())
got = [drawn async for drawn in session.generate(3 * IDS, GREEDY, 8, go_on=lambda: wanted)]
await stopper
[len(got), session.finish_reason, session.usage.prefill_tokens, counts()["dispatches"] - at_stop]
"""


@pytest.fixture(scope="module")
def ask(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Runs Python in a worker whose WebGPU calls are counted; a checkpoint lies beside it."""
    site = tmp_path_factory.mktemp("site")
    address = make_site(site, environment.python("build"))
    # Without biases, as all Llamas are.
    folder = save("llama", site, attention_bias=False, mlp_bias=False)
    values = (f"FILES = {[path.name for path in folder.iterdir()]}\n"
              f"IDS = {PROMPT.tolist()}\nNEW = {NEW}\n")
    with Host(site) as host:
        page = PythonPage(chromium.context, host.url + address)
        page('from tabgrad.gpu.device import open_device\nawait open_device("webgpu")\nNone')
        (worker,) = page.page.workers
        worker.evaluate(COUNTERS)
        yield lambda code: page(values + CODE + code)
        assert page.problems == []
        page.close()


def test_a_token_creates_nothing_and_little_comes_back(ask: Ask) -> None:
    dispatches, seen = ask(WRITE)
    # Of the first piece, which has one id, to the last: prompt and warm-up are before.
    (first, before), (_, after) = seen[0], seen[-1]
    tokens = sum(count for count, _ in seen[1:])
    made = {name: after[name] - before[name] for name in before}
    assert (first, tokens) == (1, NEW - 1)
    assert (made["buffers"], made["bind_groups"], made["pipelines"]) == (0, 0, 0)
    assert made["bytes"] == 0
    assert made["submits"] <= tokens
    assert made["maps"] <= -(-tokens // 4)
    assert made["dispatches"] == tokens * dispatches
    # Beside the layers: an embedding, a norm, the head and three steps of the draw.
    assert dispatches - 6 <= 8 * LAYERS


def test_a_stop_while_the_prompt_is_read_ends_within_a_chunk(ask: Ask) -> None:
    pieces, reason, read, dispatches_after = ask(ABORT)
    assert (pieces, reason) == (0, "abort")
    assert read == 16
    assert dispatches_after == 0
