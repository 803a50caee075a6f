"""Chat over the application's messages: many at once, in the way of each other, out of memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tabgrad.errors import OutOfMemory, TabgradError
from tabgrad.gpu.device import Device
from tabgrad.platform.native_gpu import NativeGpu
from tests import talking_model
from tests.unit.runs import small
from tests.unit.test_application import Page

STORY = [{"role": "user", "content": "Tell me a story."}]
LONG = [{"role": "user", "content": "Tell me a story. " * 60}]
SLACK = 100_000
GREEDY = {"temperature": 0, "max_new_tokens": 12}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talking_model.save(tmp_path_factory.mktemp("talking"))


class Chat(Page):
    """A page with a model in its store."""

    async def start(self, path: Path, device: str = "webgpu") -> Chat:
        boot = await self.ask("boot", device=device, base="")
        self.corpus = boot["corpora"][0]["sha256"]
        await self.add(path)
        return self

    async def add(self, path: Path) -> None:
        files = {file.name: file for file in path.iterdir()}
        self.model = (await self.app.models.adopt("talking", files)).name

    def load(self, **fields: Any) -> Awaitable[dict[str, Any]]:
        return self.send("load_model", model=self.model, **fields)

    def chat(self, messages: list[dict[str, str]], **settings: Any) -> Awaitable[dict[str, Any]]:
        return self.send("chat", messages=messages, settings={**GREEDY, **settings})

    @property
    def bytes(self) -> int:
        assert self.app.device is not None
        self.app.device.trim()
        return self.app.device.gpu.counters()["bytes"]


def scene(stored: Path, tmp_path: Path, play: Callable[[Chat], Awaitable[None]],
          device: str = "webgpu") -> None:
    async def run() -> None:
        await play(await Chat(tmp_path).start(stored, device))
    asyncio.run(run())


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def text(answer: dict[str, Any]) -> str:
    assert answer["name"] == "reply", answer
    return answer["result"]["text"]


def problem(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["name"] == "failure", answer
    return answer["problem"]


def test_what_cannot_be_loaded_gives_its_memory_back(monkeypatch: pytest.MonkeyPatch, stored: Path,
                                                     tmp_path: Path) -> None:
    async def play(page: Chat) -> None:
        async def works() -> None:
            assert (await page.load())["name"] == "reply"
            assert text(await page.chat(STORY))
            await page.ask("unload_model")
        await works()
        # Buffers for what comes back stay, and may grow a little; a model has 1.6 MB.
        before, create = page.bytes, NativeGpu.create_buffer
        for last in ("model.embed_tokens.weight", "model.norm.weight", "keys and values",
                     "token counts", "slot 2"):
            def full(self: NativeGpu, size: int, label: str, last: str = last) -> int:
                if label == last:
                    raise OutOfMemory(f"{label}: the GPU has no memory left.")
                return create(self, size, label)
            with monkeypatch.context() as patch:
                patch.setattr(NativeGpu, "create_buffer", full)
                assert problem(await page.load())["code"] == "out-of-memory"
            assert page.app.device.gpu.counters()["bytes"] <= before + SLACK
        await works()
        assert page.bytes <= before + SLACK
    scene(stored, tmp_path, play)


def test_an_adapter_with_small_buffers_says_which_weight(monkeypatch: pytest.MonkeyPatch,
                                                         stored: Path, tmp_path: Path) -> None:
    async def play(page: Chat) -> None:
        limits = page.app.device.info.limits
        with monkeypatch.context() as patch:
            patch.setitem(limits, "maxBufferSize", 20_000)
            found = problem(await page.load())
            assert "gate_proj" in found["message"] and found["expected"] == "1 to 20000 bytes"
        assert (await page.load())["name"] == "reply"
    scene(stored, tmp_path, play)


def test_context_lengths(stored: Path, tmp_path: Path) -> None:
    async def play(page: Chat) -> None:
        for length in (0, -1, 1):
            found = problem(await page.load(context_length=length))
            assert found["control"] == "context_length"
        assert (await page.load(context_length=10**9))["result"]["context_length"] == 2048
        assert (await page.load(context_length=40))["result"]["context_length"] == 40
        assert problem(await page.chat(LONG))["control"] == "prompt"
        answer = await page.chat(STORY, max_new_tokens=1000)
        assert answer["result"]["finish_reason"] == "length"
    scene(stored, tmp_path, play)


def test_a_new_chat_ends_the_one_before(stored: Path, tmp_path: Path) -> None:
    async def play(page: Chat) -> None:
        await page.load()
        wanted = text(await page.chat(STORY))
        first = asyncio.create_task(page.chat(LONG, max_new_tokens=900))
        await turns(6)
        others = [asyncio.create_task(page.chat(LONG)), asyncio.create_task(page.chat(STORY))]
        assert (await first)["result"]["finish_reason"] == "abort"
        assert (await others[0])["result"]["finish_reason"] == "abort"
        assert text(await others[1]) == wanted
        assert (await others[1])["result"]["finish_reason"] != "abort"
    scene(stored, tmp_path, play)


def test_abort_comes_at_any_time_and_twice(stored: Path, tmp_path: Path) -> None:
    async def play(page: Chat) -> None:
        await page.ask("abort")
        await page.load()
        wanted = text(await page.chat(STORY))
        for moment in (0, 2, 4):
            task = asyncio.create_task(page.chat(LONG, max_new_tokens=900))
            await turns(moment)
            await page.ask("abort")
            await page.ask("abort")
            assert moment == 0 or (await task)["result"]["finish_reason"] == "abort"
            await page.ask("abort")
            await task
            assert text(await page.chat(STORY)) == wanted
    scene(stored, tmp_path, play)


def test_models_come_and_go_while_one_chats(stored: Path, tmp_path: Path) -> None:
    async def play(page: Chat) -> None:
        await page.load()
        wanted = text(await page.chat(STORY))
        writing = asyncio.create_task(page.chat(STORY, max_new_tokens=900))
        await turns(10)
        loads = [asyncio.create_task(page.load()) for _ in range(3)]
        assert (await writing)["result"]["finish_reason"] == "abort"
        assert [problem(await one)["code"] for one in loads[:2]] == ["cancelled"] * 2
        assert (await loads[2])["name"] == "reply"
        assert text(await page.chat(STORY)) == wanted

        writing = asyncio.create_task(page.chat(STORY, max_new_tokens=900))
        await turns(10)
        assert (await page.ask("delete_model", model=page.model))["models"] == []
        assert (await writing)["result"]["finish_reason"] == "abort"
        assert problem(await page.chat(STORY))["control"] == "chat-model"

        await page.add(stored)
        loading = asyncio.create_task(page.load())
        await turns(12)
        await page.ask("delete_model", model=page.model)
        assert problem(await loading)["code"] == "cancelled"
    scene(stored, tmp_path, play)


@pytest.mark.parametrize("moment", ["load", "prefill", "chat"])
def test_a_lost_gpu(monkeypatch: pytest.MonkeyPatch, stored: Path, tmp_path: Path,
                    moment: str) -> None:
    async def play(page: Chat) -> None:
        await page.load()
        wanted = text(await page.chat(STORY))
        kept = {"conversation": "a-1", "title": "t", "model": page.model, "system": "",
                "messages": STORY, "settings": {}, "updated_at": 1.0}
        await page.ask("save_conversation", conversation=kept)
        name, count = ("upload" if moment == "load" else "replay"), 0
        working = getattr(Device, name)

        def losing(self: Device, *given: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == 2:
                self.gpu._state._lose("for the test")
            return working(self, *given, **named)
        with monkeypatch.context() as patch:
            patch.setattr(Device, name, losing)
            found = problem(await (page.load() if moment == "load"
                                   else page.chat(LONG if moment == "prefill" else STORY)))
        assert found["code"] == "device-lost" and "Load the model again" in found["remedy"]
        assert problem(await page.chat(STORY))["control"] == "chat-model"
        assert (await page.load())["name"] == "reply"
        assert text(await page.chat(STORY)) == wanted
        assert (await page.ask("conversations"))["conversations"] == [kept]
    scene(stored, tmp_path, play)


@pytest.mark.parametrize("device", ["webgpu", "numpy"])
def test_settings_at_their_ends(stored: Path, tmp_path: Path, device: str) -> None:
    async def play(page: Chat) -> None:
        await page.load(context_length=64)
        for settings in ({"seed": 2**64 - 1, "temperature": 1}, {"temperature": 1e-9},
                         {"top_p": 0, "temperature": 1}, {"min_p": 1, "temperature": 1},
                         {"stop": ["x" * 10_000] * 100}, {"logprobs": True, "top_logprobs": 20}):
            assert text(await page.chat(STORY, **{"max_new_tokens": 3, **settings}))
        for name, value in (("seed", 2**64), ("seed", -1), ("max_new_tokens", 0), ("stop", [""]),
                            ("top_k", -1), ("top_logprobs", 21), ("temperature", -1)):
            assert problem(await page.chat(STORY, **{name: value}))["control"] == name
        assert problem(await page.send("complete", prompt="", settings=GREEDY))["control"] \
            == "prompt"
        assert text(await page.chat([])) and text(await page.chat([{"role": "?", "content": ""}]))
    scene(stored, tmp_path, play, device)


def test_training_and_chat_on_one_device_do_not_touch_each_other(stored: Path,
                                                                 tmp_path: Path) -> None:
    async def losses(page: Chat) -> list[float]:
        await page.until("done")
        return [point["loss"] for message in page.events if message["name"] == "progress"
                for point in message["points"]]

    async def texts(page: Chat) -> list[str]:
        assert (await page.load())["name"] == "reply"
        return [text(await page.chat([*LONG, *STORY[:turn]], temperature=1, seed=turn))
                for turn in range(3)]

    async def play(page: Chat) -> None:
        settings = small(max_steps=24).to_dict()
        await page.ask("train", settings=settings, corpus=page.corpus)
        alone = await losses(page)
        wanted = await texts(page)
        page.events.clear()
        await page.ask("train", settings=settings, corpus=page.corpus)
        assert await texts(page) == wanted
        assert await losses(page) == alone and len(alone) == 24
    scene(stored, tmp_path, play)


def test_python_may_hand_over_anything(stored: Path, tmp_path: Path) -> None:
    async def play(page: Chat) -> None:
        await page.load()
        model = page.app.language_model

        async def write(prompt: Any, **settings: Any) -> str:
            return "".join([piece async for piece in model.generate(
                prompt, max_new_tokens=4, temperature=0.0, **settings)])
        wanted = await write(STORY)
        assert wanted and await write(STORY, stop=None, seed=None, top_k=None) == wanted
        parts = [{"role": "user", "content": [{"type": "text", "text": "Tell"}], "name": None}]
        assert await write(parts)
        for prompt in (["Tell"], b"Tell", [{"role": "user", "content": object()}],
                       [{"role": "user", "content": float("nan")}], ""):
            with pytest.raises(TabgradError):
                await write(prompt)
        with pytest.raises(TabgradError, match="Stop strings"):
            await write(STORY, stop=["a", 5])
        assert await write(STORY) == wanted
    scene(stored, tmp_path, play)
