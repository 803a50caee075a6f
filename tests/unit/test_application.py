"""The application over its messages: one answer to each command, whatever happens."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tabgrad.app.application import Application
from tabgrad.app.commands import COMMANDS
from tabgrad.app.library import FolderHost
from tabgrad.app.protocol import load_protocol
from tabgrad.platform.native_files import NativeFiles
from tests.unit.runs import TEXT, small

WAIT_S = 120.0
GREEDY = {"prompt": "The ", "max_new_tokens": 20, "temperature": 0, "top_k": 0, "seed": 1}


class Page:
    """The other end of the wire."""

    def __init__(self, folder: Path) -> None:
        (folder / "texts").mkdir(parents=True, exist_ok=True)
        (folder / "texts" / "verse.txt").write_bytes(TEXT.data.tobytes())
        self.app = Application(NativeFiles(folder / "store"), FolderHost(folder / "texts"),
                               self._receive, COMMANDS)
        self.answers: Counter[int] = Counter()
        self.results: dict[int, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.next_id = 0

    def _receive(self, text: str, data: bytes | None) -> None:
        message = json.loads(text)
        if message["name"] not in ("reply", "failure"):
            self.events.append(message)
            return
        self.answers[message["id"]] += 1
        if data is not None:
            message["result"][message["bytes"]] = data
        self.results[message["id"]] = message

    async def send(self, name: str, data: bytes | None = None, **fields: Any) -> dict[str, Any]:
        """The reply or failure of a command."""
        self.next_id += 1
        identity = self.next_id
        await self.app.handle(json.dumps({"name": name, "id": identity, **fields}), data)
        assert self.answers[identity] == 1
        return self.results[identity]

    async def ask(self, name: str, data: bytes | None = None, **fields: Any) -> dict[str, Any]:
        """The result of a command that must work."""
        answer = await self.send(name, data, **fields)
        assert answer["name"] == "reply", answer
        return answer["result"]

    async def refused(self, name: str, data: bytes | None = None, **fields: Any) -> dict[str, Any]:
        """The problem of a command that must fail."""
        answer = await self.send(name, data, **fields)
        assert answer["name"] == "failure", answer
        return answer["problem"]

    async def until(self, event: str, **fields: Any) -> dict[str, Any]:
        """Waits for an event with these fields."""
        async def wait() -> dict[str, Any]:
            while True:
                for message in self.events:
                    if message["name"] == event and fields.items() <= message.items():
                        return message
                await asyncio.sleep(0)
        return await asyncio.wait_for(wait(), WAIT_S)

    def count(self, event: str) -> int:
        return sum(message["name"] == event for message in self.events)


def test_every_command_of_the_table_has_a_function():
    assert set(COMMANDS) == set(load_protocol().commands)


def test_malformed_messages_are_answered(tmp_path):
    async def scenario():
        page = Page(tmp_path)
        for text in ("", "{", "[]", "3", "null", '{"name": "pause"}', '{"id": "a"}'):
            await page.app.handle(text)
        assert page.count("error") == 7 and not page.answers
        assert (await page.refused("boom"))["code"] == "protocol"
        assert (await page.refused("restore", run=3, train=True))["code"] == "protocol"
        assert "boot first" in (await page.refused("pause"))["expected"]
        await page.app.handle('{"id": 900}')
        assert page.results[900]["name"] == "failure"
        assert (await page.refused("boot", device="abacus", base=""))["code"] == "settings"
    asyncio.run(scenario())


def test_train_pause_stop_export_delete_import_generate(tmp_path):
    async def scenario():
        page = Page(tmp_path)
        boot = await page.ask("boot", device="webgpu", base="")
        assert boot["corpora"][0]["builtin"] and boot["runs"] == []
        text = boot["corpora"][0]["sha256"]
        settings = small(max_steps=30, sample_steps=0).to_dict()
        run = (await page.ask("train", settings=settings, corpus=text))["run"]["run"]
        assert "training" in (await page.refused("delete", run=run))["message"]
        await page.until("checkpoint", step=10)
        assert (await page.ask("pause"))["state"] == "paused"
        step = (await page.ask("step"))["step"]
        assert (await page.ask("save"))["step"] == step
        while_paused = await page.ask("generate", run=run, **GREEDY)
        assert len(while_paused["text"]) == while_paused["tokens"] == 20
        await page.ask("resume")
        await page.until("done", run=run)
        text_now = (await page.ask("generate", run=run, **GREEDY))["text"]
        exported = await page.ask("export", run=run)
        assert (await page.ask("delete", run=run))["runs"] == []
        again = (await page.ask("import", exported["zip"]))["run"]
        assert again["step"] == 30 and again["complete"]
        assert (await page.ask("generate", run=again["run"], **GREEDY))["text"] == text_now
        history = (await page.ask("restore", run=again["run"], train=False))["history"]
        assert [point["step"] for point in history["points"]] == list(range(1, 31))
        assert (await page.refused("restore", run=run, train=True))["control"] == "max_steps"
        longer = {**settings, "max_steps": 33}
        await page.ask("train", settings=longer, corpus=text, run=run)
        assert (await page.until("done", step=33))["run"] == run
        assert set(page.answers.values()) == {1}
    asyncio.run(scenario())


def test_problems_name_the_control_that_mends_them(tmp_path):
    async def scenario():
        page = Page(tmp_path)
        text = (await page.ask("boot", device="webgpu", base=""))["corpora"][0]["sha256"]
        good = small().to_dict()
        for changes, control in (({"learning_rate": -1.0}, "learning_rate"),
                                 ({"preset": "huge"}, "preset")):
            problem = await page.refused("train", settings={**good, **changes}, corpus=text)
            assert problem["control"] == control and problem["code"] == "settings"
        assert (await page.refused("train", settings=good, corpus="ab" * 32))["control"] == "corpus"
        assert (await page.refused("train", settings=good, corpus="../x"))["code"] == "checkpoint"
        empty = await page.refused("add_corpus", b"", title="empty.txt")
        assert empty["remedy"] == "Choose one with at least 129 characters."
        assert "UTF-8" in (await page.refused("add_corpus", b"\xff" * 200, title="x"))["message"]
        assert "zip" in (await page.refused("import", b"PK nothing"))["message"]
        assert (await page.refused("generate", run="nobody", **GREEDY))["code"] == "storage"
        assert (await page.refused("export", run="../nobody"))["code"] == "checkpoint"
        assert await page.ask("runs") == {"runs": []}
        assert await page.ask("pause") == {"state": "idle", "step": 0}
    asyncio.run(scenario())


def test_generation_streams_beside_training_and_can_be_stopped(tmp_path):
    async def scenario():
        page = Page(tmp_path)
        text = (await page.ask("boot", device="webgpu", base=""))["corpora"][0]["sha256"]
        settings = small(max_steps=100_000, save_steps=100_000, eval_steps=0).to_dict()
        run = (await page.ask("train", settings=settings, corpus=text))["run"]["run"]
        await page.until("checkpoint", step=0)
        first = await page.ask("generate", run=run, **GREEDY)
        before = page.count("token")
        endless = asyncio.create_task(page.ask("generate", run=run, **{
            **GREEDY, "max_new_tokens": 100_000}))
        while page.count("token") < before + 3:
            await asyncio.sleep(0)
        reached = page.app.trainer.step
        await page.ask("abort")
        stopped = await endless
        assert stopped["stopped"] and 0 < stopped["tokens"] < 100_000
        assert stopped["text"].startswith(first["text"]), "the same checkpoint, the same text"
        while page.app.trainer.step <= reached:
            await asyncio.sleep(0)
        assert (await page.ask("stop"))["state"] == "idle"
    asyncio.run(scenario())


@pytest.mark.parametrize("kind", ["webgpu", "numpy"])
def test_estimate_and_storage(tmp_path, kind):
    async def scenario():
        page = Page(tmp_path)
        await page.ask("boot", device=kind, base="")
        estimate = await page.ask("estimate", settings=small().to_dict())
        assert estimate["parameters"] == 120_576 and estimate["step_ms"] > 0
        assert estimate["total_bytes"] == sum(estimate["memory"].values())
        assert (await page.ask("storage"))["persistent"] is True
    asyncio.run(scenario())
