"""A run of ours goes on in PyTorch under torchrun, and comes back."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tabgrad.app.runs import validate_import
from tabgrad.checkpoint.archive import unpack
from tabgrad.checkpoint.corpora import CorpusStore
from tabgrad.checkpoint.store import RunStore
from tabgrad.checkpoint.transfer import export_run, import_run
from tabgrad.interop.torch import main
from tabgrad.platform.native_files import NativeFiles
from tests.unit.runs import TEXT, make_run, small, trained

ROOT = Path(__file__).resolve().parents[2]
FIRST, STEPS = 6, 10
# Two micro-batches of four rows, clipping, decay and a schedule that bends: all of it must go on.
CHANGES = {"gradient_accumulation_steps": 2, "max_steps": 40, "learning_rate": 3e-3,
           "max_grad_norm": 0.5, "eval_steps": 0, "save_steps": FIRST, "logging_steps": 1}


async def _stopped_at(folder: Path, step: int) -> None:
    """A run of ours that was stopped once it had a checkpoint of `step`."""
    running = await make_run(folder, small(**CHANGES), "quiet-otter")
    running.start()
    await running.until(lambda: any(at["step"] >= step for at in running.named("checkpoint")))
    await running.trainer.stop()
    await running.finish()


async def _export(folder: Path, run_name: str) -> bytes:
    files = NativeFiles(folder)
    corpora = CorpusStore(files)
    await corpora.add(TEXT)
    _, data = await export_run(RunStore(files), corpora, run_name)
    return data


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, int]:
    """Our run's folder, the same run exported and unpacked, and the step that it was stopped at."""
    home, out = tmp_path_factory.mktemp("tab"), tmp_path_factory.mktemp("out") / "quiet-otter"
    asyncio.run(_stopped_at(home, FIRST))
    out.mkdir()
    for name, data in unpack(asyncio.run(_export(home, "quiet-otter"))).items():
        (out / name).write_bytes(data)
    step = json.loads((out / "manifest.json").read_text())["summary"]["step"]
    return home, out, step


def _torchrun(folder: Path, out: Path, processes: int) -> list[dict]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone",
               f"--nproc_per_node={processes}", "-m", "tabgrad.interop.torch", str(folder),
               "--text", str(folder / "corpus.txt"), "--steps", str(STEPS), "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "web" / "py"), "OMP_NUM_THREADS": "1",
                   "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_two_processes_continue_the_curve_and_the_tab_goes_on_from_there(
        exported: tuple[Path, Path, int], tmp_path: Path) -> None:
    home, folder, first = exported
    *points, done = _torchrun(folder, tmp_path / "further", 2)
    assert [point["step"] for point in points] == list(range(first + 1, first + STEPS + 1))
    ours = asyncio.run(trained(home, small(**CHANGES), "quiet-otter"))
    expected = [ours.losses[point["step"]] for point in points]
    found = [point["loss"] for point in points]
    assert np.abs(np.array(found) - expected).max() <= 1e-3, (found, expected)
    assert max(expected) - min(expected) > 0.05, "the loss must have moved"

    async def import_it(place: Path) -> str:
        files = NativeFiles(place)
        return await import_run(RunStore(files), CorpusStore(files),
                                Path(done["zip"]).read_bytes(), validate_import)

    again = tmp_path / "again"
    name = asyncio.run(import_it(again))
    after = asyncio.run(trained(again, small(**CHANGES), name))
    assert min(after.losses) == first + STEPS + 1
    for step, loss in after.losses.items():
        assert abs(loss - ours.losses[step]) <= 2e-3, step


def test_faults_are_one_line(exported: tuple[Path, Path, int], tmp_path: Path,
                             capsys: pytest.CaptureFixture[str]) -> None:
    _, folder, _ = exported
    other = tmp_path / "other.txt"
    other.write_text("Another text, long enough for a window of thirty-two. " * 3)
    assert main([str(folder), "--text", str(other)]) == 1
    assert "is not the text of this run" in capsys.readouterr().err
    assert main([str(tmp_path), "--text", str(other)]) == 1
    said = capsys.readouterr().err
    assert "is not an exported run" in said and said.count("\n") == 1
