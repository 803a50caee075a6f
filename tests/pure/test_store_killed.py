"""The store of runs when its writer is killed: it opens at the last complete step."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tabgrad.platform.native_files import NativeFiles
from tests.pure.test_store import joined, strict

PACKAGE = Path(__file__).parents[2] / "web" / "py"
WRITER = """
import asyncio, sys
sys.path.insert(0, sys.argv[2]); sys.path.insert(0, sys.argv[3])
from tests.pure.test_store import CORPUS, RECORD, NativeFiles, Path, RunStore, content, summary
async def main():
    store = RunStore(NativeFiles(Path(sys.argv[1])))
    run = "quiet-otter"
    await (store.open(run) if run in await store.names() else store.create(RECORD, run))
    loaded = await store.load(run)
    step = loaded.summary.step if loaded else 0
    print("ready", flush=True)
    while True:
        step += 1
        await store.save(run, summary(step, 2 + (step % 7)), content(step))
asyncio.run(main())
"""


def test_a_writer_killed_at_twenty_random_moments(tmp_path):
    moments = random.Random(7)
    last = 0
    for _ in range(20):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, tmp_path, str(PACKAGE), str(PACKAGE.parents[1])],
            stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(moments.uniform(0.005, 0.12))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        last = asyncio.run(check_killed_run(tmp_path, last))
    assert last > 20


async def check_killed_run(root: Path, before: int) -> int:
    store = strict(NativeFiles(root))
    await store.open("quiet-otter")
    loaded = await store.load("quiet-otter")
    if loaded is None:
        assert before == 0
        step = 0
    else:
        step = loaded.summary.step
        assert loaded.files == joined(step) and step >= before
    folders = {path.name for path in (root / "runs" / "quiet-otter").iterdir() if path.is_dir()}
    assert folders == {f"step-{number}" for number in await store.steps("quiet-otter")}
    store.close("quiet-otter")
    return step
