"""Evaluations over the application's messages: each kind, abort, kept ones, and hostile files."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabgrad.evaluate.memorisation import prefix_ends
from tabgrad.evaluate.report import Evaluation
from tests import checkpoints, talking_model
from tests.unit.test_application import Page

FILLER = ("The road went on past the mill and over the bridge, as roads do, and nobody was on it. "
          "Later there was rain, and then there was none.\n")
TASKS = (b'{"context": "The sky is", "choices": [" blue", " loud"], "answer": 0}\n'
         b'{"context": "One, two,", "cloze": " three", "weight": 2}\n'
         b'{"context": "A dog and a", "cloze": " cat"}\n'
         b'{"context": "no answer"}\n')


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talking_model.save(tmp_path_factory.mktemp("talking"))


def talking_chat(question: str) -> str:
    """A question as the template of the talking model writes it."""
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp((logits - logits.max(-1, keepdims=True)).astype(np.float64))
    return powers / powers.sum(-1, keepdims=True)


async def started(tmp_path: Path, path: Path | None = None) -> Page:
    page = Page(tmp_path)
    page.corpus = (await page.ask("boot", device="webgpu", base=""))["corpora"][0]["sha256"]
    if path is not None:
        files = {file.name: file for file in path.iterdir()}
        page.model = (await page.app.models.adopt("talking", files)).name
    return page


async def add(page: Page, title: str, text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return (await page.ask("add_corpus", data, title=title))["corpus"]["sha256"]


async def evaluated(page: Page, kind: str, **fields: Any) -> Evaluation:
    """The kept evaluation, which is the one that came back."""
    fields.setdefault("options", {})
    fields.setdefault("model", page.model)
    answer = (await page.ask("evaluate", kind=kind, **fields))["evaluation"]
    kept = (await page.ask("evaluations"))["evaluations"]
    assert answer in kept
    assert Evaluation.from_json(json.loads(json.dumps(answer))).to_json() == answer
    return Evaluation.from_json(answer)


def test_a_planted_passage_is_found_and_measured(stored: Path, tmp_path: Path) -> None:
    """What Transformers writes after a prefix with these weights is planted behind it."""
    async def play() -> None:
        page = await started(tmp_path, stored)
        await page.ask("load_model", model=page.model, context_length=64)
        model = page.app.language_model
        # Without a space no prefix is moved to the end of a word: its place is known beforehand.
        noise = "".join(f"{number * 7919 % 100003:x}" for number in range(400))
        end = prefix_ends(noise, 8, 24, seed=3)[5]
        ids = model.tokenizer.encode(noise[end - 24:end])
        recited = model.tokenizer.decode([*ids, *checkpoints.greedy(stored, np.array(ids), 30)])
        planted = recited.removeprefix(noise[end - 24:end])[:20]
        assert len(planted) == 20 and "\ufffd" not in planted
        text = f"{noise[:end]}{planted}\n{noise[end + 21:]}"
        score = (await evaluated(page, "memorisation", corpus=await add(page, "planted", text),
                                 options={"prefixes": 8, "prefix_characters": 24, "seed": 3,
                                          "max_new_tokens": 8})).score
        best = score.continuations[0]
        assert (best.offset, best.line, best.verbatim) == (end, 1, 20)
        assert best.text.startswith(planted) and best.text[20:21] != "\n"
        assert score.longest == score.longest_found == 20 and best.found_text == planted
        assert (best.found_offset, best.found_line) == (end, 1)
        assert 0 < best.verbatim_tokens <= 20 and max(
            one.verbatim for one in score.continuations[1:]) < 10
    asyncio.run(play())


def test_text_tasks_and_conditions(stored: Path, tmp_path: Path) -> None:
    async def play() -> None:
        page = await started(tmp_path, stored)
        await page.ask("load_model", model=page.model)
        text = (await evaluated(page, "text", corpus=page.corpus, options={
            "context_length": 64, "share": 0.3})).score
        assert text.context_length == 64 and text.bytes + text.unscored_bytes > 500
        tasks = await add(page, "mine.jsonl", TASKS)
        held = await page.ask("read_tasks", tasks=tasks)
        assert (held["items"], held["clozes"], held["bad_count"]) == (3, 2, 1)
        assert held["bad_lines"] == [{"line": 4,
                                      "reason": "an item has either choices or a cloze"}]
        first = await evaluated(page, "tasks", tasks=tasks)
        assert first.score.bad_lines == 1 and len(first.score.items) == 3
        assert first.score.goodput >= 0 and first.speed.tokens > 0 and first.speed.bytes > 0
        assert "| accuracy |" in first.to_markdown()
        found = (await evaluated(page, "conditions", tasks=tasks, corpus=page.corpus, options={
            "shots": 1, "max_new_tokens": 4})).score
        assert [one.name for one in found.conditions] == ["base", "few-shot", "base + retrieval"]
        assert [len(one.answers) for one in found.conditions] == [2, 2, 2]
        assert [one.answers[0].shown for one in found.conditions] == [0, 1, 1]
        chat = (await evaluated(page, "conditions", tasks=tasks, options={
            "shots": 1, "max_new_tokens": 2, "chat": True})).score.conditions[0].answers[1]
        rendered = talking_chat("A dog and a")
        whole, start = (page.app.language_model.tokenizer.encode(text, add_special_tokens=False)
                        for text in (rendered + "cat", rendered))
        table = np.log(softmax(checkpoints.logits(stored, np.array(whole))))
        wanted = sum(table[at - 1, whole[at]] for at in range(len(start), len(whole)))
        assert abs(chat.logprob - wanted) < 1e-3
        exported = await page.ask("export_evaluation", evaluation=first.evaluation, form="json")
        assert Evaluation.from_json(json.loads(exported["data"])) == first
        second = await evaluated(page, "tasks", tasks=tasks)
        assert second.evaluation != first.evaluation
        compared = await page.ask("compare_evaluations", first=first.evaluation,
                                  second=second.evaluation)
        assert compared["table"]["flips"] == [] and "accuracy" in compared["markdown"]
        assert {one["name"] for one in page.events if one["name"] == "evaluation_progress"}
    asyncio.run(play())


def test_abort_and_a_chat_end_it_and_others_are_refused(stored: Path, tmp_path: Path) -> None:
    async def play() -> None:
        page = await started(tmp_path, stored)
        await page.ask("load_model", model=page.model)
        long = await add(page, "long", FILLER * 60)

        async def begun() -> asyncio.Task[dict[str, Any]]:
            seen = len(page.events)
            task = asyncio.create_task(page.send(
                "evaluate", model=page.model, kind="memorisation", corpus=long,
                options={"max_new_tokens": 64}))
            while not any(one["name"] == "evaluation_progress" for one in page.events[seen:]):
                await asyncio.sleep(0)
            return task
        task = await begun()
        await page.ask("abort")
        assert (await task)["problem"]["code"] == "cancelled"
        task = await begun()
        chat = await page.ask("complete", prompt="The", settings={"max_new_tokens": 3})
        assert chat["usage"]["completion_tokens"] == 3 and task.done()
        assert (await task)["problem"]["code"] == "cancelled"
        assert (await page.ask("evaluations"))["evaluations"] == []
        for kind, control, fields in (
                ("song", "evaluation-kind", {}), ("text", "corpus", {}), ("tasks", "tasks", {}),
                ("tasks", "tasks", {"tasks": page.corpus}),
                ("text", "options", {"corpus": long, "options": {"speed": 3}}),
                ("text", "overlap", {"corpus": long, "options": {"context_length": 8,
                                                                 "overlap": 8}}),
                ("text", "context_length", {"corpus": long, "options": {"context_length": 1}})):
            answer = await page.send("evaluate", **{"model": page.model, "kind": kind,
                                                    "options": {}, **fields})
            assert answer["problem"]["control"] == control, answer
    asyncio.run(play())


def test_a_damaged_file_hides_no_other(stored: Path, tmp_path: Path) -> None:
    async def play() -> None:
        page = await started(tmp_path, stored)
        kept = await evaluated(page, "tasks", tasks=await add(page, "mine.jsonl", TASKS),
                               options={"context_length": 64, "writing": 0})
        folder = tmp_path / "store" / "evaluations"
        good = json.loads(next(folder.glob("*.json")).read_text())
        for number, change in enumerate((
                {"kind": "song"}, {"result": None}, {"created_at": 1e300}, {"title": 3},
                {"evaluation": "other"}, {"result": {**good["result"], "score": {"items": []}}})):
            name = f"bad-{number}"
            (folder / f"{name}.json").write_text(json.dumps({**good, "evaluation": name,
                                                             **change}))
        (folder / "bad-text.json").write_text("{" * 100_000)
        found = (await page.ask("evaluations"))["evaluations"]
        assert [one["evaluation"] for one in found] == [kept.evaluation]
        assert sum(one["name"] == "notice" for one in page.events) >= 7
        answer = await page.send("delete_evaluation", evaluation="../corpora/x")
        assert answer["problem"]["code"] == "storage"
        left = await page.ask("delete_evaluation", evaluation=kept.evaluation)
        assert left["evaluations"] == [] and not (folder / f"{kept.evaluation}.json").exists()
    asyncio.run(play())
