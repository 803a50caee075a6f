"""A training step in the steady state: nothing is created, little is submitted, Python is idle."""

from __future__ import annotations

import pytest

from tests.e2e.tab import Tab
from tests.e2e.worker_probe import WorkerSession, count_gpu_calls, counts_by_step

pytestmark = pytest.mark.alone

PYTHON_SHARE = 0.05
# The shape that the other libraries are compared on, and the smallest model.
SHAPES = {"byte-tinygpt": 12, "tiny": 60}


@pytest.fixture
def running(tab: Tab, request: pytest.FixtureRequest) -> Tab:
    """The page in the middle of a run of the preset named by the test, its start over."""
    preset = request.param
    corpus = tab.boot["corpora"][0]["sha256"]
    count_gpu_calls(tab)
    after = tab.mark()
    tab.train(corpus, preset=preset, max_steps=100_000)
    tab.wait_for_step(SHAPES[preset], after=after)
    yield tab
    tab.command("stop")


@pytest.mark.parametrize("running", SHAPES, indirect=True)
def test_a_step_creates_nothing(running: Tab) -> None:
    first = running.messages("progress")[-1]["step"]
    running.wait_for_step(first + 20, after=running.mark())
    rows = [(step, counts) for step, counts in counts_by_step(running) if step >= first]
    (start, before), (end, now) = rows[0], rows[-1]
    made = {key: now[key] - before[key] for key in before}
    assert end - start >= 20
    assert (made["buffers"], made["bind_groups"], made["pipelines"]) == (0, 0, 0)
    assert made["bytes"] == 0
    assert made["dispatches"] > 0
    assert made["submits"] <= 2 * (end - start)


@pytest.mark.parametrize("running", ["byte-tinygpt"], indirect=True)
def test_python_takes_little_of_a_step(running: Tab) -> None:
    session = WorkerSession(running)
    sampled = session.python_share(seconds=6)
    session.close()
    progress = running.messages("progress")[-1]
    told = progress["python_ms"] / progress["step_ms"]
    print(f"Python: {told:.2%} of a step by its own clock, {sampled:.2%} by sampling")
    assert 0 < told < PYTHON_SHARE
    assert 0 < sampled < PYTHON_SHARE
