"""Looking into the page's worker: WebGPU calls counted, time sampled, heaps measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.tab import Tab

COUNTERS = (Path(__file__).parent / "gpu_counters.js").read_text()


def count_gpu_calls(tab: Tab) -> None:
    """Wraps WebGPU in the tab's worker; from then on `counts_by_step` has something to say."""
    tab.worker.evaluate(COUNTERS)


def counts_by_step(tab: Tab, run: str) -> list[tuple[int, dict[str, float]]]:
    """(step, calls made until then and `ms`) at the moment each progress of a run was posted."""
    rows = json.loads(tab.worker.evaluate("() => JSON.stringify(gpuCounters.bySteps)"))
    return [(step, counts) for of_run, step, counts in rows if of_run == run]


def counts_now(tab: Tab) -> dict[str, int]:
    """Calls made so far."""
    return dict(tab.worker.evaluate("() => gpuCounters.counts"))


class WorkerSession:
    """A DevTools session with the tab's worker, beside Playwright's own.

    Args:
        tab: booted.
    """

    def __init__(self, tab: Tab) -> None:
        self._page = tab.page
        self._answers: dict[int, dict[str, Any]] = {}
        self._last = 0
        targets: list[dict[str, Any]] = []
        self._session = tab.context.new_cdp_session(tab.page)
        self._session.on("Target.attachedToTarget", lambda event: targets.append(event))
        self._session.on("Target.receivedMessageFromTarget", self._receive)
        self._session.send("Target.setAutoAttach", {
            "autoAttach": True, "waitForDebuggerOnStart": False, "flatten": False})
        while not (found := [target["sessionId"] for target in targets
                             if "/worker.js" in target["targetInfo"]["url"]]):
            self._page.wait_for_timeout(5)
        (self._target,) = found

    def _receive(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        if "id" in message:
            self._answers[message["id"]] = message

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the DevTools protocol, and its result."""
        self._last += 1
        message = json.dumps({"id": self._last, "method": method, "params": parameters})
        self._session.send("Target.sendMessageToTarget",
                           {"sessionId": self._target, "message": message})
        while self._last not in self._answers:
            self._page.wait_for_timeout(5)
        answer = self._answers.pop(self._last)
        assert "error" not in answer, f"{method}: {answer}"
        return dict(answer["result"])

    def heap(self) -> dict[str, int]:
        """Bytes in use after a garbage collection: `usedSize` of JavaScript objects,
        `backingStorageSize` of array buffers, without WebAssembly's memory."""
        self.send("HeapProfiler.collectGarbage")
        return self.send("Runtime.getHeapUsage")

    def python_share(self, seconds: float) -> float:
        """The part of the time in which the worker's thread ran Python, by sampling.

        A sample counts when the innermost frame that has a file is Pyodide's. What Python calls
        in JavaScript counts as JavaScript.
        """
        self.send("Profiler.enable")
        self.send("Profiler.setSamplingInterval", interval=500)
        self.send("Profiler.start")
        self._page.wait_for_timeout(seconds * 1000)
        profile = self.send("Profiler.stop")["profile"]
        self.send("Profiler.disable")
        python = _python_nodes(profile["nodes"])
        spans = list(zip(profile["samples"], profile["timeDeltas"], strict=True))
        return sum(span for node, span in spans if node in python) / sum(s for _, s in spans)

    def close(self) -> None:
        """Leaves the worker alone."""
        self._session.detach()


def _python_nodes(nodes: list[dict[str, Any]]) -> set[int]:
    parents = {child: node["id"] for node in nodes for child in node.get("children", ())}
    urls = {node["id"]: node["callFrame"]["url"] for node in nodes}

    def file_of(node: int | None) -> str:
        while node is not None and not urls[node]:
            node = parents.get(node)
        return "" if node is None else str(urls[node])

    return {node for node in urls if "pyodide" in file_of(node) or "wasm" in file_of(node)}
