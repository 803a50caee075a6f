"""Going on is the same as never having stopped, bit by bit: after a stop, a loss, a new process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tabgrad.checkpoint.folder import read_folder
from tabgrad.errors import DeviceLost, TabgradError
from tabgrad.gpu.device import Device, open_device
from tabgrad.train import agenda
from tests.unit.runs import make_run, small, trained

ROOT = Path(__file__).parents[2]


async def final_bits(run) -> dict[str, bytes]:
    loaded = await run.store.load(run.trainer.run_name)
    checkpoint = read_folder(loaded.files)
    assert checkpoint.state["step"] == loaded.summary.step
    return {f"{kind}.{name}": array.tobytes()
            for kind in ("weights", "first_moment", "second_moment")
            for name, array in getattr(checkpoint, kind).items()}


def test_twenty_steps_are_ten_and_ten(tmp_path):
    async def scenario():
        settings = small(gradient_accumulation_steps=2, sample_steps=7)
        whole = await trained(tmp_path / "whole", settings, "whole")
        assert sorted(whole.losses) == list(range(1, 21))

        first = await make_run(tmp_path / "parts", settings, "parts")
        first.start()
        await first.until(lambda: first.trainer.step >= 10)
        await first.trainer.stop()
        stopped = first.trainer.step
        assert 10 <= stopped < 20
        second = await trained(tmp_path / "parts", settings, "parts")
        assert min(second.losses) == stopped + 1

        assert {**first.losses, **second.losses} == whole.losses
        assert await final_bits(second) == await final_bits(whole)
        history = read_folder((await second.store.load("parts")).files).state["history"]
        assert history["curve"]["loss"] == [whole.losses[step] for step in range(1, 21)]
        assert history["validation"] == whole.trainer.history.validation
    asyncio.run(scenario())


@pytest.mark.parametrize("chunk", [1, 3, 8])
def test_pieces_do_not_change_the_arithmetic(tmp_path, monkeypatch, chunk):
    async def scenario():
        settings = small(max_steps=12, eval_steps=0)
        reference = await trained(tmp_path / "a", settings, "a")
        monkeypatch.setattr("tabgrad.train.trainer.chunk_steps", lambda step_ms: chunk)
        monkeypatch.setattr("tabgrad.train.trainer.pieces_in_flight", lambda step_ms: 2)
        pieces = await trained(tmp_path / "b", settings, "b")
        assert pieces.losses == reference.losses
        assert await final_bits(pieces) == await final_bits(reference)
    assert agenda.chunk_steps(None) == 1
    asyncio.run(scenario())


def test_validation_and_samples_do_not_disturb_training(tmp_path):
    async def scenario():
        plain = await trained(tmp_path / "a", small(eval_steps=0), "a")
        watched = await trained(tmp_path / "b", small(eval_steps=2, sample_steps=3), "b")
        assert watched.losses == plain.losses
        assert await final_bits(watched) == await final_bits(plain)
        assert len(watched.named("validation")) == 11
        assert [fields["sample"]["step"] for fields in watched.named("sample")] == [
            0, 3, 6, 9, 12, 15, 18, 20]
    asyncio.run(scenario())


def lose(device: Device) -> None:
    """What the driver does when the GPU goes away, as this package sees it."""
    device.gpu.close()
    device.gpu.on_lost("unknown", "pulled out by a test")


def test_training_goes_on_by_itself_after_a_lost_device(tmp_path):
    async def scenario():
        settings = small(save_steps=6)
        whole = await trained(tmp_path / "whole", settings, "whole")
        opened = []

        async def reopen() -> Device:
            opened.append(await open_device("webgpu"))
            return opened[-1]

        run = await make_run(tmp_path / "lost", settings, "lost", reopen=reopen)
        run.start()
        for step in (8, 15):
            await run.until(lambda step=step: run.trainer.step >= step)
            lose(opened[-1] if opened else run.trainer.engine.device)
        await run.finish()
        assert len(opened) == 2
        assert [fields["code"] for fields in run.named("notice")] == ["device-lost"] * 2
        assert "from step 6" in run.named("notice")[0]["message"]
        assert run.losses == whole.losses
        assert await final_bits(run) == await final_bits(whole)
        assert run.trainer.state == "idle"
    asyncio.run(scenario())


def test_a_device_that_is_lost_again_and_again_ends_the_run_with_a_way_on(tmp_path, monkeypatch):
    monkeypatch.setattr("tabgrad.train.recovery.WAITS_S", (0.0, 0.0, 0.0))

    async def scenario():
        tries = []

        async def reopen() -> Device:
            device = await open_device("webgpu")
            tries.append(device)
            lose(device)
            return device

        run = await make_run(tmp_path, small(), "lost", reopen=reopen)
        run.start()
        await run.until(lambda: run.trainer.step >= 3)
        lose(run.trainer.engine.device)
        with pytest.raises(DeviceLost, match="again and again"):
            await run.finish()
        assert len(tries) == 3
        last = run.named("state")[-1]
        assert last["state"] == "failed" and "smaller" in last["problem"]["remedy"]
        assert not run.store.is_open("lost")
        assert (await trained(tmp_path, small(), "lost")).trainer.step == 20
    asyncio.run(scenario())


def test_without_a_way_to_reopen_a_loss_is_an_error(tmp_path):
    async def scenario():
        run = await make_run(tmp_path, small(), "lost")
        run.start()
        await run.until(lambda: run.trainer.step >= 3)
        lose(run.trainer.engine.device)
        with pytest.raises(TabgradError):
            await run.finish()
        assert run.trainer.state == "failed"
    asyncio.run(scenario())


WRITER = """
import asyncio, sys
from pathlib import Path
from tests.unit.runs import make_run, small
async def main():
    run = await make_run(Path(sys.argv[1]), small(save_steps=1, eval_steps=0, max_steps=400), "k")
    run.start()
    await run.until(lambda: run.trainer.engine is not None)
    print("ready", flush=True)
    await run.finish()
asyncio.run(main())
"""


def test_a_killed_process_goes_on_with_the_same_losses(tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'web' / 'py'}"}
    moments = np.random.default_rng(3).uniform(0.1, 0.6, 3)
    for moment in moments:
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)],
                                   stdout=subprocess.PIPE, env=environment, cwd=ROOT)
        assert process.stdout.readline() == b"ready\n"
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()

    async def scenario():
        store = (await make_run(tmp_path, small(), "k")).store
        reached = (await store.steps("k"))[-1]
        assert reached > 0
        settings = small(eval_steps=0, max_steps=400)
        run = await make_run(tmp_path / "whole", settings, "whole")
        run.start()
        await run.until(lambda: run.trainer.step >= reached)
        await run.trainer.stop()
        state = json.loads((await store.load("k")).files["state.json"])
        assert state["history"]["curve"]["loss"] == [
            run.losses[step] for step in range(1, reached + 1)]
    asyncio.run(scenario())
