"""Memory of a long run: JavaScript heap, WebAssembly heap and GPU buffers, step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from playwright.sync_api import CDPSession

from tests.e2e.tab import Tab
from tests.e2e.worker_probe import COUNTERS, WorkerSession, counts_now

# V8 compiles a function again each time that it has become hotter, and drops what is idle: for
# hundreds of steps its code grows by up to half a kilobyte a step, which a page that keeps two
# megabytes of objects shows. With these flags the heap holds what the page keeps, and no more.
STEADY_CODE = ("--js-flags=--no-opt,--no-maglev,--no-sparkplug,--no-flush-bytecode,"
               "--no-lazy-feedback-allocation",)
MOST_LOOKS = 12
AGREE = 0.001

WASM = (Path(__file__).parent / "wasm_memory.js").read_text()


@dataclass(frozen=True)
class Sample:
    """Bytes in use at one moment of the run, after garbage collections.

    Args:
        step: of the run.
        page_heap: JavaScript objects of the page.
        worker_heap: JavaScript objects of the worker.
        wasm: the memory that Python lives in.
        gpu: buffers that were created and not destroyed.
    """

    step: int
    page_heap: int
    worker_heap: int
    wasm: int
    gpu: int


MEASURES = ("page_heap", "worker_heap", "wasm", "gpu")


def open_watched(tab: Tab, query: str = "") -> Tab:
    """Opens the page; the GPU's buffers are counted from before Python makes some."""
    with tab.page.expect_worker() as started:
        tab.page.goto(tab.url + query)
    started.value.evaluate(WASM)
    started.value.evaluate(COUNTERS)
    return tab.listen().booted()


def watch(tab: Tab, steps: int, samples: int, **settings: object) -> list[Sample]:
    """Trains `tiny` on the page's first text and looks every `steps / samples` steps.

    The run would go on for as long again, and is stopped: at its end it gives up buffers.
    """
    every = steps // samples
    session = WorkerSession(tab)
    page = tab.context.new_cdp_session(tab.page)
    found: list[Sample] = []
    run = tab.train(tab.boot["corpora"][0]["sha256"], max_steps=2 * steps, **settings)
    for step in range(every, steps + 1, every):
        reached = tab.wait_for_step(step, seconds=300)
        tab.forget()  # what the test itself keeps must not look like a leak of the page
        found.append(Sample(reached, _lowest(lambda: _page_heap(page)),
                            _lowest(lambda: session.heap()["usedSize"]),
                            int(tab.worker.evaluate("() => wasmBytes()")),
                            counts_now(tab)["bytes"]))
    tab.command("stop")
    tab.wait_for("state", run=run, state="idle")
    page.detach()
    session.close()
    return found


def _page_heap(page: CDPSession) -> int:
    page.send("HeapProfiler.collectGarbage")
    return int(page.send("Runtime.getHeapUsage")["usedSize"])


def _lowest(look: Callable[[], int]) -> int:
    """Looks until the two lowest agree: between a collection and its look there may have been a
    message or a frame, and the garbage of one drawing is a tenth of the page's heap."""
    seen = sorted((look(), look()))
    while seen[1] - seen[0] > AGREE * seen[0] and len(seen) < MOST_LOOKS:
        seen = sorted((*seen, look()))
    return seen[0]


def drift(found: list[Sample]) -> dict[str, float]:
    """Of each measure: mean of the last quarter over mean of the second, minus 1."""
    quarter = len(found) // 4

    def mean(name: str, part: list[Sample]) -> float:
        return fmean(asdict(sample)[name] for sample in part)

    return {name: mean(name, found[-quarter:]) / mean(name, found[quarter:2 * quarter]) - 1
            for name in MEASURES}
