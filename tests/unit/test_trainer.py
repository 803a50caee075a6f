"""The trainer's manners: pause, step, stop, save, and what happens when things go wrong."""

from __future__ import annotations

import asyncio
import json
import math

import numpy as np
import pytest

from tabgrad.checkpoint.stored import RunBusy
from tabgrad.errors import StorageError
from tabgrad.gpu.device import open_device
from tabgrad.models.decoder import Decoder
from tabgrad.text.batches import batch
from tabgrad.text.corpus import Corpus
from tabgrad.train.diverged import TrainingDiverged
from tabgrad.train.pretrain import pretrain_step, windows
from tabgrad.train.step import TrainStep
from tests.unit.runs import TEXT, make_run, small, trained


def test_a_run_from_start_to_end(tmp_path):
    async def scenario():
        run = await trained(tmp_path, small(sample_steps=10), "whole")
        assert [fields["state"] for fields in run.named("state")] == ["running", "running", "idle"]
        assert sorted(run.losses) == list(range(1, 21))
        assert run.losses[1] == pytest.approx(math.log(256), abs=0.05)
        assert run.losses[20] < run.losses[1] - 1
        assert [fields["point"]["step"] for fields in run.named("validation")] == [
            0, 5, 10, 15, 20]
        assert [fields["step"] for fields in run.named("checkpoint")] == [0, 10, 20]
        assert [fields["best"] for fields in run.named("checkpoint")] == [True] * 3
        done, = run.named("done")
        assert done.pop("gpu_bytes") > 16 * 120_576
        assert done == {"run": "whole", "step": 20, "loss": run.losses[20],
                        "validation_loss": run.named("validation")[-1]["point"]["loss"]}
        found, = await run.store.list_runs()
        assert found.summary.step == 20 and not run.store.is_open("whole")
        state = json.loads((await run.store.load("whole")).files["state.json"])
        assert state["tokens"] == 20 * 4 * 32 and state["seed"] == 1
        last = run.named("progress")[-1]
        assert last["step_ms"] > last["python_ms"] > 0 and last["tokens_per_second"] > 0
    asyncio.run(scenario())


def test_pause_step_resume_stop(tmp_path):
    async def scenario():
        run = await make_run(tmp_path, small(max_steps=10_000, save_steps=10_000), "p")
        run.start()
        trainer = run.trainer
        await run.until(lambda: trainer.step >= 3)
        assert (await trainer.pause())[0] == "paused"
        paused_at = trainer.step
        for _ in range(50):
            await asyncio.sleep(0)
        assert trainer.step == paused_at
        assert (await run.store.steps("p"))[-1] == paused_at, "a pause saves"
        for more in (1, 2, 3):
            assert await trainer.step_once() == ("paused", paused_at + more)
        assert await trainer.save_now() == paused_at + 3
        assert (await run.store.steps("p"))[-1] == paused_at + 3
        assert await trainer.pause() == ("paused", paused_at + 3)
        assert (await trainer.resume())[0] == "running"
        await run.until(lambda: trainer.step >= paused_at + 10)
        saved = await trainer.save_now()
        assert saved >= paused_at + 10 and saved in await run.store.steps("p")
        assert (await trainer.stop())[0] == "idle"
        assert (await run.store.steps("p"))[-1] == trainer.step
        await run.finish()
        assert await trainer.stop() == ("idle", trainer.step)
        assert await trainer.save_now() == trainer.step
        assert [state["state"] for state in run.named("state")][-2:] == ["stopping", "idle"]
        assert sorted(run.losses) == list(range(1, trainer.step + 1))
    asyncio.run(scenario())


def test_a_pause_during_the_start_and_a_stop_of_a_paused_run(tmp_path):
    async def scenario():
        run = await make_run(tmp_path, small(), "p")
        run.start()
        await run.until(lambda: run.trainer.state == "running")
        assert (await run.trainer.pause())[0] == "paused"
        for _ in range(200):
            await asyncio.sleep(0)
        assert run.trainer.step == 0
        assert await run.trainer.stop() == ("idle", 0)
        await run.finish()
        assert await run.store.steps("p") == [0]
    asyncio.run(scenario())


async def break_weights(run) -> None:
    arena = run.trainer.engine.decoder.arena
    broken = await arena.read(arena.weights)
    broken["model.norm.weight"][:] = np.nan
    arena.write(arena.weights, broken)


@pytest.mark.parametrize(("changes", "way_on", "words"), [
    ({}, "resume", "the loss is nan"), ({}, "save_now", "a weight is no number"),
    ({"eval_steps": 1}, "resume", "loss is nan")])
def test_a_number_that_is_none_stops_and_keeps_the_last_good_checkpoint(
        tmp_path, changes, way_on, words):
    async def scenario():
        settings = small(**{"save_steps": 5000, "eval_steps": 0, "max_steps": 5000, **changes})
        run = await make_run(tmp_path, settings, "d")
        run.start()
        trainer = run.trainer
        await run.until(lambda: trainer.step >= 6)
        await trainer.pause()
        good = await trainer.save_now()
        await trainer.step_once()
        for _ in range(200):                # a validation at this step may be under way
            await asyncio.sleep(0)
        await break_weights(run)
        asked = asyncio.create_task(getattr(trainer, way_on)())
        with pytest.raises(TrainingDiverged, match=words) as caught:
            await run.finish()
        assert f"step {good}" in caught.value.remedy
        assert await asked in (("running", trainer.step), good)
        assert (await run.store.steps("d"))[-1] == good
        last = run.named("state")[-1]
        assert last["state"] == "failed" and last["problem"]["control"] == "learning_rate"
        assert not run.named("done") and not run.store.is_open("d")
    asyncio.run(scenario())


def test_a_full_disk_is_said_and_training_goes_on(tmp_path):
    async def scenario():
        run = await make_run(tmp_path, small(), "f")
        original = run.store.files.write

        async def full(path, chunks):
            if "step-10" in path:
                raise StorageError("The disk is full.", remedy="Delete a run.")
            return await original(path, chunks)
        run.store.files.write = full
        run.start()
        await run.finish()
        assert [fields["code"] for fields in run.named("notice")] == ["save-failed"]
        assert "Delete a run." in run.named("notice")[0]["message"]
        assert await run.store.steps("f") == [0, 20]
    asyncio.run(scenario())


def test_two_trainers_cannot_have_one_run(tmp_path):
    async def scenario():
        first = await make_run(tmp_path, small(max_steps=10_000), "b")
        first.start()
        await first.until(lambda: first.trainer.step >= 1)
        second = await make_run(tmp_path, small(), "b")
        second.start()
        with pytest.raises(RunBusy, match="another tab"):
            await second.finish()
        assert second.named("state")[-1]["problem"]["code"] == "busy"
        await first.trainer.stop()
    asyncio.run(scenario())


def test_a_short_text_trains_without_validation_and_says_so(tmp_path):
    async def scenario():
        corpus = Corpus.from_bytes("short", b"abcdefghijklmnopqrstuvwxyz0123456789 and a bit")
        run = await trained(tmp_path, small(max_steps=3), "s", corpus=corpus)
        assert not run.named("validation")
        assert [fields["code"] for fields in run.named("notice")] == ["no-validation"]
        assert run.named("done")[0]["validation_loss"] is None
    asyncio.run(scenario())


def test_accumulated_micro_batches_are_one_large_batch():
    async def scenario():
        device = await open_device("webgpu")
        part, _ = TEXT.split(32)
        settings = small(per_device_train_batch_size=2, gradient_accumulation_steps=3)
        large = small(per_device_train_batch_size=6)
        steps = [pretrain_step(Decoder(each.recipe, 1), each, windows(each, part))
                 for each in (settings, large)]
        micro = [batch(part, 5, i, 2, 32, settings.seed) for i in range(3)]
        joined = [np.concatenate([pair[which] for pair in micro]) for which in range(2)]

        def same_windows(step: int) -> np.ndarray:
            words = TrainStep.data(steps[1], step)
            for name, ids in zip(("ids.0", "targets.0"), joined, strict=True):
                steps[1].feed.put(words, name, ids)
            return words
        steps[1].data = same_windows
        results = []
        for step in steps:
            await step.compile()
            measured, = step.read(5, await step.submit(5, 1))
            arena = step.arena
            results.append((measured.loss, measured.grad_norm, await arena.read(arena.weights)))
        (loss_a, norm_a, weights_a), (loss_b, norm_b, weights_b) = results
        assert loss_a == pytest.approx(loss_b, rel=1e-5)
        assert norm_a == pytest.approx(norm_b, rel=1e-4)
        rate = settings.rate(5)
        for name, weight in weights_a.items():
            if name.endswith("k_proj.bias"):      # its gradient is rounding alone
                continue
            assert np.abs(weight - weights_b[name]).max() < 0.05 * rate, name
        device.close()
    asyncio.run(scenario())


def test_the_steady_state_makes_nothing_on_the_gpu(tmp_path):
    async def scenario():
        run = await make_run(tmp_path, small(max_steps=10**6, eval_steps=0, save_steps=10**6), "g")
        run.start()
        await run.until(lambda: run.trainer.step >= 60)
        gpu = run.trainer.engine.device.gpu
        before, step = gpu.counters(), run.trainer.step
        await run.until(lambda: run.trainer.step >= 200)
        after, steps = gpu.counters(), run.trainer.step - step
        for made in ("buffers", "bind_groups", "pipelines"):
            assert after[made] == before[made], made
        # A few pieces more may be on their way than are counted as steps.
        assert after["submits"] - before["submits"] <= 2 * (steps + 2 * 128)
        await run.trainer.stop()
    asyncio.run(scenario())
