"""Memory of a long run: JavaScript heap, WebAssembly heap and GPU buffers, step by step."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from tests.e2e.tab import Tab
from tests.e2e.worker_probe import COUNTERS, WorkerSession, counts_now

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
    """Opens the page with its worker watched from before Python starts."""
    with tab.page.expect_worker() as started:
        tab.page.goto(tab.url + query)
    started.value.evaluate(WASM)
    started.value.evaluate(COUNTERS)
    return tab.listen().booted()


def watch(tab: Tab, steps: int, samples: int, **settings: object) -> list[Sample]:
    """Trains `tiny` on the page's first text and looks every `steps / samples` steps."""
    every = steps // samples
    session = WorkerSession(tab)
    page = tab.context.new_cdp_session(tab.page)
    found: list[Sample] = []
    run = tab.train(tab.boot["corpora"][0]["sha256"], max_steps=steps, **settings)
    for step in range(every, steps + 1, every):
        reached = tab.wait_for_step(step, seconds=300)
        if step < steps:  # what the test itself keeps must not look like a leak of the page
            tab.forget()
        page.send("HeapProfiler.collectGarbage")
        found.append(Sample(reached, page.send("Runtime.getHeapUsage")["usedSize"],
                            session.heap()["usedSize"],
                            int(tab.worker.evaluate("() => wasmBytes()")),
                            counts_now(tab)["bytes"]))
    tab.wait_for("done", run=run)
    page.detach()
    session.close()
    return found


def drift(found: list[Sample]) -> dict[str, float]:
    """Of each measure: mean of the last quarter over mean of the second, minus 1."""
    quarter = len(found) // 4

    def mean(name: str, part: list[Sample]) -> float:
        return fmean(asdict(sample)[name] for sample in part)

    return {name: mean(name, found[-quarter:]) / mean(name, found[quarter:2 * quarter]) - 1
            for name in MEASURES}
