"""Fine-tuning over the application's messages: data, estimate, runs, adapters, and what fails."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabgrad.errors import StorageError
from tests import talking_model
from tests.unit.runs import TEXT, small
from tests.unit.test_application import Page

CHATS = "".join(json.dumps({"messages": [
    {"role": "user", "content": f"What is {i}?"},
    {"role": "assistant", "content": f"A number, and {i + 1} is next."}]}) + "\n"
    for i in range(60)).encode()
SMALL: dict[str, Any] = {
    "context_length": 48, "per_device_train_batch_size": 2, "max_steps": 12, "warmup_steps": 0,
    "learning_rate": 2e-2, "eval_steps": 6, "save_steps": 4, "prompts": ["What is 3?"],
    "max_new_tokens": 6}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talking_model.save(tmp_path_factory.mktemp("talking"))


class Tuner(Page):
    """A page with a model and data."""

    async def start(self, path: Path, data: bytes = CHATS) -> Tuner:
        await self.ask("boot", device="webgpu", base="")
        self.model = await self.add(path)
        corpus = await self.ask("add_corpus", data, title="chats.jsonl")
        self.corpus = corpus["corpus"]["sha256"]
        defaults = await self.ask("finetune_defaults", model=self.model)
        self.settings = {**defaults["settings"], **SMALL}
        return self

    async def add(self, path: Path, title: str = "talking") -> str:
        files = {file.name: file for file in path.iterdir()}
        return (await self.app.models.adopt(title, files)).name

    def fields(self, **changes: Any) -> dict[str, Any]:
        return {"model": self.model, "corpus": self.corpus,
                "settings": {**self.settings, **changes}}

    async def tune(self, run: str | None = None, **changes: Any) -> str:
        """Trains to the end; the run's name."""
        reply = await self.ask("finetune", **self.fields(**changes), skip_bad_lines=False, run=run)
        await self.ended()
        return reply["run"]["run"]

    async def ended(self) -> None:
        assert self.app.training is not None
        await self.app.training

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["name"] == name]

    def losses(self) -> dict[int, float]:
        return {point["step"]: point["loss"] for event in self.named("progress")
                for point in event["points"]}


def scene(path: Path, tmp_path: Path, play: Callable[[Tuner], Awaitable[None]],
          data: bytes = CHATS) -> None:
    async def run() -> None:
        await play(await Tuner(tmp_path).start(path, data))
    asyncio.run(run())


def test_from_data_to_an_adapter_that_is_switched(stored: Path, tmp_path: Path) -> None:
    async def play(page: Tuner) -> None:
        facts = (await page.ask("read_data", **page.fields(), skip_bad_lines=False,
                                preview_rows=2))["facts"]
        assert facts["kind"] == "chats" and facts["documents"] == 60 and not facts["bad_count"]
        assert len(facts["preview"]) == 2 and facts["held_out_documents"] == 6
        shown = facts["preview"][0]["tokens"]
        assert {token["trained"] for token in shown} == {True, False}

        run = await page.tune()
        losses = page.losses()
        assert sorted(losses) == list(range(1, 13)) and losses[12] < losses[1] - 0.3
        assert [event["answers"]["step"] for event in page.named("answers")] == [0, 6, 12]
        before, *_, after = (event["answers"]["answers"][0]["text"]
                             for event in page.named("answers"))
        assert before != after
        points = [event["point"]["loss"] for event in page.named("validation")]
        assert len(points) == 3 and points[2] < points[0]
        listed, = (await page.ask("runs"))["runs"]
        assert (listed["kind"], listed["base"], listed["complete"]) == (
            "finetune", page.model, True)
        assert listed["trained_parameters"] == 3 * 8 * (36 + 72 + 36 + 24)

        adapter, = (await page.ask("adapters", model=page.model))["adapters"]
        assert (adapter["adapter"], adapter["step"]) == (f"run:{run}", 12)
        assert adapter["parameters"] == listed["trained_parameters"]
        await page.ask("load_model", model=page.model, context_length=64)

        async def said() -> str:
            return (await page.ask("chat", messages=[{"role": "user", "content": "What is 3?"}],
                                   settings={"temperature": 0, "max_new_tokens": 6}))["text"]
        plan = page.app.language_model.session.plan
        assert await said() == before
        await page.ask("use_adapter", adapter=adapter["adapter"], weight=1)
        assert await said() == after and page.app.language_model.session.plan is not plan
        plan = page.app.language_model.session.plan
        await page.ask("use_adapter", adapter=None, weight=0)
        assert await said() == before and page.app.language_model.session.plan is plan
        await page.ask("use_adapter", adapter=adapter["adapter"], weight=1)
        assert await said() == after and page.app.language_model.session.plan is plan
        assert "goes with it" in (await page.refused("delete_adapter", adapter=f"run:{run}"))[
            "remedy"]
        exported = (await page.ask("export", run=run))["zip"]
        again = (await page.ask("import", exported))["run"]
        assert again["run"] != run and {name: again[name] for name in (
            "kind", "base", "finetune", "trained_parameters", "step")} == {
            name: listed[name] for name in ("kind", "base", "finetune", "trained_parameters",
                                            "step")}
    scene(stored, tmp_path, play)


@pytest.mark.parametrize("method", ["lora", "full"])
def test_a_stopped_fine_tune_goes_on_with_the_same_bits(stored: Path, tmp_path: Path,
                                                        method: str) -> None:
    more = {"method": method, "gradient_accumulation_steps": 2, "lora": {
        "r": 4, "lora_alpha": 8.0, "lora_dropout": 0.25, "use_rslora": False,
        "target_modules": ["q_proj", "down_proj"]}}

    async def bits(page: Tuner, run: str) -> dict[str, bytes]:
        loaded = await page.app.store.load(run)
        return {name: data for name, data in loaded.files.items() if name.endswith("safetensors")}

    async def play(page: Tuner) -> None:
        whole = await page.tune(**more)
        expected, kept = page.losses(), await bits(page, whole)
        page.events.clear()
        run = (await page.ask("finetune", **page.fields(**more),
                              skip_bad_lines=False))["run"]["run"]
        while page.app.trainer.step < 5:
            await asyncio.sleep(0)
        await page.ask("stop")
        stopped = page.app.trainer.step
        assert 5 <= stopped < 12
        if method == "full":    # its own checkpoint has all that it needs
            await page.ask("delete_model", model=page.model)
        again = Tuner(tmp_path)
        await again.ask("boot", device="webgpu", base="")
        reply = await again.ask("restore", run=run, train=True)
        answered = [one["step"] for one in reply["history"]["answers"]]
        assert answered == ([0, 6] if stopped > 6 else answered[:1])  # at 6 it may be cut short
        await again.ended()
        assert min(again.losses()) == stopped + 1
        assert {**page.losses(), **again.losses()} == expected
        assert await bits(again, run) == kept
        assert set(kept) == {"optimizer.safetensors", "adapter_model.safetensors"
                             if method == "lora" else "model.safetensors"}
        history = (await again.ask("restore", run=run, train=False))["history"]
        assert [one["step"] for one in history["answers"]] == [0, 6, 12]
    scene(stored, tmp_path, play)


def test_another_base_and_none_are_refused_by_name(stored: Path, tmp_path: Path) -> None:
    async def play(page: Tuner) -> None:
        run = await page.tune(max_steps=2)
        record = json.loads((tmp_path / "store/runs" / run / "run.json").read_text())
        record["settings"]["max_steps"] = 4
        (tmp_path / "store/runs" / run / "run.json").write_text(json.dumps(record))
        await page.ask("delete_model", model=page.model)
        problem = await page.refused("restore", run=run, train=True)
        assert "no longer here: talking" in problem["message"]
        assert "fine-tune itself is kept" in problem["remedy"]
        other = tmp_path / "other"
        shutil.copytree(stored, other)
        shard = sorted(other.glob("*.safetensors"))[0]
        shard.write_bytes(shard.read_bytes()[:-4] + b"\0\0\0\0")
        assert await page.add(other) == page.model
        problem = await page.refused("restore", run=run, train=True)
        assert "another model" in problem["message"] and "talking" in problem["expected"]
        await page.ask("delete_model", model=page.model)
        await page.add(stored)
        await page.ask("restore", run=run, train=True)
        await page.ended()
        assert (await page.ask("runs"))["runs"][0]["complete"]
    scene(stored, tmp_path, play)


def test_bad_lines_are_listed_and_left_out_when_asked(stored: Path, tmp_path: Path) -> None:
    async def play(page: Tuner) -> None:
        facts = (await page.ask("read_data", **page.fields(), skip_bad_lines=False,
                                preview_rows=0))["facts"]
        assert facts["bad_count"] == 2 and [one["line"] for one in facts["bad_lines"]] == [61, 62]
        problem = await page.refused("finetune", **page.fields(max_steps=1), skip_bad_lines=False)
        assert "2 lines" in problem["message"] and "line 61" in problem["received"]
        await page.ask("finetune", **page.fields(max_steps=1), skip_bad_lines=True)
        await page.ended()
        assert page.app.trainer.step == 1
    scene(stored, tmp_path, play, CHATS + b'{"messages": []}\n{"nothing": 1}\n')


def test_files_of_the_wrong_kind_are_named(stored: Path, tmp_path: Path) -> None:
    async def play(page: Tuner) -> None:
        problem = await page.refused("add_corpus", b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
                                     title="cat.png")
        assert problem["control"] in ("corpus", "text") and "text" in problem["message"].lower()
        (tmp_path / "cat.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        identity, page.next_id = page.next_id + 1, page.next_id + 1
        await page.app.handle(json.dumps({
            "name": "add_adapter", "id": identity, "title": "cat", "model": page.model,
            "files": [{"name": "cat.png", "size": 8}]}), None, {"cat.png": tmp_path / "cat.png"})
        problem = page.results[identity]["problem"]
        assert "adapter_config.json" in problem["message"] and "cat.png" in problem["received"]
    scene(stored, tmp_path, play)


def test_an_absurd_batch_is_refused_before_it_starts(stored: Path, tmp_path: Path) -> None:
    async def play(page: Tuner) -> None:
        fields = page.fields(per_device_train_batch_size=4096, context_length=2048)
        estimate = await page.ask("estimate_finetune", **fields, limit_bytes=2**31)
        assert not estimate["fits"] and estimate["total_bytes"] > 2**31
        smaller = await page.ask("estimate_finetune", **{
            **fields, "settings": estimate["suggestion"]}, limit_bytes=2**31)
        assert smaller["fits"] and "GB" in estimate["suggestion_reason"]
        reply = await page.ask("finetune", **fields, skip_bad_lines=False)
        await page.ended()
        state = page.named("state")[-1]
        problem = state["problem"]
        assert state["state"] == "failed" and problem["code"] == "out-of-memory"
        assert problem["expected"] and problem["received"] and "smaller batch" in problem["remedy"]
        assert reply["run"]["run"] in [one["run"] for one in (await page.ask("runs"))["runs"]]
        small = await page.ask("estimate_finetune", **page.fields(), limit_bytes=2**31)
        assert small["fits"] and small["trained_parameters"] < small["parameters"]
        assert set(small["memory"]) >= {"weights", "gradients", "moments", "activations"}
    scene(stored, tmp_path, play)


def test_a_number_that_is_none_stops_and_keeps_the_run(stored: Path, tmp_path: Path) -> None:
    async def play(page: Tuner) -> None:
        run = (await page.ask("finetune", **page.fields(max_steps=200, eval_steps=0),
                              skip_bad_lines=False))["run"]["run"]
        while page.app.trainer.step < 3:
            await asyncio.sleep(0)
        good = (await page.ask("pause"))["step"]
        arena = page.app.trainer.engine.arena
        weights = await arena.read(arena.weights)
        broken = dict(weights)
        name = next(name for name in broken if "lora_B" in name)
        broken[name] = np.full_like(broken[name], np.nan)
        arena.write(arena.weights, broken)
        await page.ask("resume")
        await page.ended()
        problem = page.named("state")[-1]["problem"]
        assert f"at step {good + 1}" in problem["message"] and name in problem["message"]
        assert f"step {good} is kept" in problem["remedy"]
        assert (await page.app.store.steps(run))[-1] == good
        await page.ask("restore", run=run, train=True)
        while page.app.trainer.step < good + 2:
            await asyncio.sleep(0)
        assert (await page.ask("stop"))["step"] >= good + 2
    scene(stored, tmp_path, play)


def test_a_full_disk_is_said_and_training_goes_on(stored: Path, tmp_path: Path) -> None:
    async def play(page: Tuner) -> None:
        original = page.app.files.write

        async def full(path: str, chunks: Any) -> int:
            if "step-8" in path:
                raise StorageError("The disk is full.", remedy="Delete a run.")
            return await original(path, chunks)
        page.app.files.write = full
        run = await page.tune()
        assert [event["code"] for event in page.named("notice")] == ["save-failed"]
        assert await page.app.store.steps(run) == [0, 4, 12]
    scene(stored, tmp_path, play)


def test_a_run_of_ours_is_a_base(stored: Path, tmp_path: Path) -> None:
    async def play(page: Tuner) -> None:
        base = (await page.ask("train", settings=small(max_steps=2, eval_steps=0).to_dict(),
                               corpus=TEXT.sha256))["run"]["run"]
        await page.ended()
        page.model = base
        page.settings["lora"] = (await page.ask("finetune_defaults", model=base))[
            "settings"]["lora"]
        assert page.settings["lora"]["target_modules"] == ["c_attn"]
        text = (await page.ask("add_corpus", b"Some other text, all in one piece.\n" * 40,
                               title="other.txt"))["corpus"]["sha256"]
        page.corpus = text
        run = await page.tune(max_steps=2, prompts=["So"])
        assert page.named("done")[-1]["run"] == run
        loaded = await page.ask("load_model", model=base)
        assert (loaded["model"]["model"], loaded["model"]["model_type"]) == (base, "gpt2")
        await page.ask("use_adapter", adapter=f"run:{run}", weight=1)
        reply = await page.ask("complete", prompt="So", settings={"temperature": 0,
                                                                  "max_new_tokens": 6})
        assert reply["text"] == page.named("answers")[-1]["answers"]["answers"][0]["text"]
    scene(stored, tmp_path, play)
