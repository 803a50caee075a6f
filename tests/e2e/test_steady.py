"""A training step in the steady state: nothing is created, little is submitted, Python is idle."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tabgrad.gpu.pace import SUBMISSION_MS, TWO_SUBMISSIONS_MS
from tests.e2e.tab import Tab
from tests.e2e.worker_probe import WorkerSession, count_gpu_calls, counts_by_step

pytestmark = pytest.mark.alone

PYTHON_SHARE = 0.05
# The shape that the other libraries are compared on, and the smallest model.
SHAPES = {"byte-tinygpt": 12, "tiny": 60}


@pytest.fixture(scope="module")
def running(booted: Tab, request: pytest.FixtureRequest) -> Iterator[str]:
    """The page is in the middle of a run of the preset named by the test, its start over."""
    preset = request.param
    corpus = booted.boot["corpora"][0]["sha256"]
    count_gpu_calls(booted)
    after = booted.mark()
    run = booted.train(corpus, preset=preset, max_steps=100_000)
    booted.wait_for_step(SHAPES[preset], after=after)
    yield run
    booted.command("stop")


@pytest.mark.parametrize("running", SHAPES, indirect=True)
def test_a_step_creates_nothing(running: str, tab: Tab) -> None:
    first = tab.wait_for("progress", run=running)["step"]
    tab.wait_for_step(first + 20)
    rows = [(step, counts) for step, counts in counts_by_step(tab, running) if step >= first]
    (start, before), (end, now) = rows[0], rows[-1]
    made = {key: now[key] - before[key] for key in before}
    assert end - start >= 20
    assert (made["buffers"], made["bind_groups"], made["pipelines"]) == (0, 0, 0)
    assert made["bytes"] == 0
    assert made["dispatches"] > 0
    assert made["submits"] <= _most_submissions(rows) * (end - start)


def _most_submissions(rows: list[tuple[int, dict[str, float]]]) -> int:
    """Of a step: two, unless this machine is so slow that a step goes in pieces (gpu/pace.py)."""
    slowest = max((after["ms"] - before["ms"]) / (step - first)
                  for (first, before), (step, after) in pairwise(rows) if step > first)
    return 2 if slowest <= TWO_SUBMISSIONS_MS else math.ceil(slowest / SUBMISSION_MS) + 1


@pytest.mark.parametrize("running", ["byte-tinygpt"], indirect=True)
def test_python_takes_little_of_a_step(running: str, tab: Tab) -> None:
    session = WorkerSession(tab)
    sampled = session.python_share(seconds=6)
    session.close()
    progress = tab.messages("progress")[-1]
    told = progress["python_ms"] / progress["step_ms"]
    print(f"Python: {told:.2%} of a step by its own clock, {sampled:.2%} by sampling")
    assert 0 < told < PYTHON_SHARE
    assert 0 < sampled < PYTHON_SHARE
