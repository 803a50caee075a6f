"""Files that are not what they were: the lists still come, say so, and let one delete them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests import tiny_model
from tests.unit.test_application import Page

RECORD, NOTE = "model.json", "download.json"


def scene(tmp_path: Path, play: Callable[[Page, Path], Awaitable[None]]) -> None:
    """A page on the NumPy device, with one model in its store at the path given to `play`."""
    async def run() -> None:
        page = Page(tmp_path)
        await page.ask("boot", device="numpy", base="")
        (tmp_path / "dropped").mkdir()
        for name, data in tiny_model.folder().items():
            (tmp_path / "dropped" / name).write_bytes(data)
        await page.app.models.adopt("good", {path.name: path
                                             for path in (tmp_path / "dropped").iterdir()})
        await play(page, tmp_path / "store" / "models")
    asyncio.run(run())


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"{}", b'{"version": 1, "files": 3}',
                                    b'{"version": 7}', b"\xff"])
def test_a_damaged_record_is_a_download_that_was_cut_off(tmp_path: Path, damage: bytes) -> None:
    async def play(page: Page, models: Path) -> None:
        bad = models / "bad"
        bad.mkdir()
        (bad / RECORD).write_bytes(damage)
        (bad / NOTE).write_bytes(damage)
        (bad / "model.safetensors").write_bytes(b"12345678")
        listed = {one["model"]: one for one in (await page.ask("models"))["models"]}
        assert listed["good"]["complete"] and "problem" not in listed["good"]
        assert not listed["bad"]["complete"] and listed["bad"]["done_bytes"] == 8
        left = (await page.ask("delete_model", model="bad"))["models"]
        assert [one["model"] for one in left] == ["good"]
    scene(tmp_path, play)


@pytest.mark.parametrize(("file", "data"), [
    ("config.json", json.dumps({"model_type": "llama", "rms_norm_eps": "x"}).encode()),
    ("config.json", b"{" * 1000), ("config.json", b'{"model_type": "a", "model_type": "b"}'),
    ("config.json", b'{"model_type": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    ("config.json", json.dumps({"model_type": "qwen2", "num_hidden_layers": 2**31 - 1}).encode()),
    ("chat_template.jinja", b"\xff\xfe"), ("generation_config.json", b"[1]"),
    ("tokenizer_config.json", b"\x00")])
def test_a_model_with_a_damaged_file_is_listed_with_its_problem(tmp_path: Path, file: str,
                                                                data: bytes) -> None:
    async def play(page: Page, models: Path) -> None:
        record = json.loads((models / "good" / RECORD).read_text())
        (models / "good" / file).write_bytes(data)
        record["files"][file] = {"bytes": len(data), "sha256": "0" * 64}
        (models / "good" / RECORD).write_text(json.dumps(record))
        [listed] = (await page.ask("models"))["models"]
        assert listed["problem"]["code"] in ("checkpoint", "settings")
        refused = await page.refused("load_model", model="good")
        assert refused["code"] in ("checkpoint", "settings") and refused["message"]
        assert (await page.ask("delete_model", model="good"))["models"] == []
    scene(tmp_path, play)


def test_a_damaged_conversation_leaves_the_others(tmp_path: Path) -> None:
    async def play(page: Page, models: Path) -> None:
        kept = {"conversation": "a-1", "title": "t", "model": "m", "system": "", "messages": [],
                "settings": {}, "updated_at": 1.0}
        await page.ask("save_conversation", conversation=kept)
        folder = models.parent / "conversations"
        for name, data in (("b", b"{"), ("c", b"{}"), ("d", b'{"updated_at": "soon"}')):
            (folder / f"{name}.json").write_bytes(data)
        assert (await page.ask("conversations"))["conversations"] == [kept]
        assert page.count("notice") == 3
    scene(tmp_path, play)
