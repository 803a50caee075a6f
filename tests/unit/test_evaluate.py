"""What evaluations are made of, without a GPU: task sets, retrieval, rates, matches, reports."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabgrad.errors import CheckpointError, DataError, SettingsError
from tabgrad.evaluate.compare import compare
from tabgrad.evaluate.conditions import settings_of
from tabgrad.evaluate.goodput import speed
from tabgrad.evaluate.memorisation import longest_match, prefix_ends
from tabgrad.evaluate.perplexity import windows
from tabgrad.evaluate.report import Evaluation, Subject
from tabgrad.evaluate.retrieval import Passage, Retriever, passages
from tabgrad.evaluate.scorer import Scored
from tabgrad.evaluate.task_scores import item_score, task_score
from tabgrad.evaluate.tasks import BUILT_IN, TaskSet, builtin, load_tasks
from tabgrad.generate.session import Usage

GOOD = {"context": "The sky is", "choices": [" blue", " loud"], "answer": 0}
BAD = [("[1]", "not a JSON object"), ("{", "not JSON"),
       ('{"context": "a", "context": "b"}', "twice"),
       ({**GOOD, "answer": 2}, "from 0 to 1"), ({**GOOD, "answer": True}, "whole number"),
       ({**GOOD, "choices": [" a"]}, "2 to 26"), ({**GOOD, "choices": [" a", " a"]}, "the same"),
       ({**GOOD, "choices": [" a", " "]}, "nothing in it"),
       ({**GOOD, "colour": 1}, "unknown field"),
       ({**GOOD, "cloze": " a"}, "either"), ({"context": "a"}, "either"),
       ({"context": 3, "cloze": " a"}, "context is a text"),
       ({"context": "a", "cloze": " b", "answer": 0}, "no answer"),
       *(({**GOOD, "weight": weight}, "weight") for weight in (0, -1, 1e7, "2", True)),
       ('{"context": "a", "cloze": " b", "weight": NaN}', "NaN"),
       ('{"context": "a", "cloze": "\\ud800"}', "half a character")]


def lines(*rows: Any) -> bytes:
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode()


@pytest.mark.parametrize(("bad", "reason"), BAD)
def test_bad_lines_are_listed_and_the_rest_is_read(bad: Any, reason: str) -> None:
    found = load_tasks(lines(GOOD, "", bad, GOOD))
    assert [one.line for one in found.items] == [1, 4] and found.bad_count == 1
    assert found.bad_lines[0].line == 3 and reason in found.bad_lines[0].reason


def test_what_is_no_task_set_is_refused() -> None:
    for data in (b"", b"\xff\xfe", b"[" * 100_000, lines("{}")):
        with pytest.raises(DataError):
            load_tasks(data)


@settings(max_examples=60)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        found = load_tasks(lines(GOOD) + b"\n" + data)
    except DataError:
        return
    assert found.items and found.bad_count <= data.count(b"\n") + 1


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_sets_that_ship_are_whole(name: str) -> None:
    found = builtin(name)
    assert len(found.items) == 40 and found.bad_count == 0
    assert len({one.context for one in found.items}) == 40
    assert all(choice.startswith(" ") for one in found.items for choice in one.choices)
    # The place of the right answer tells nothing.
    places = [one.answer for one in found.items if len(one.choices) == 4]
    assert all(places.count(place) <= len(places) // 2 for place in range(4))


def test_retrieval_scores_are_those_of_bm25s() -> None:
    texts = ["The tower is high and made of stone.", "The river is deep, and cold in winter.",
             "A river runs past the tower.", "Bread is baked at dawn."]
    find = Retriever([Passage(text, 0) for text in texts])
    # bm25s 0.3.16, method "lucene", k1=1.5, b=0.75, on the trigrams of each text.
    np.testing.assert_allclose(find.scores("How deep is the river?"),
                               [0.6676805, 3.4166443, 1.6125109, 0.3238084], rtol=1e-6)
    assert [one.text for one in find("How deep is the river?", 2)] == texts[1:3]
    assert find("zzz", 3) == []


@settings(max_examples=60)
@given(st.text(max_size=300), st.integers(1, 40))
def test_passages_are_the_text(text: str, size: int) -> None:
    found = passages(text, size)
    assert all(len(one.text) <= size and text.startswith(one.text, one.offset) for one in found)
    assert "".join("".join(one.text.split()) for one in found) == "".join(text.split())


@settings(max_examples=80)
@given(st.text("ab ", max_size=30), st.text("ab ", max_size=60))
def test_the_longest_match_is_the_longest(text: str, corpus: str) -> None:
    start, length, at = longest_match(text, corpus)
    assert text[start:start + length] == corpus[at:at + length]
    parts = {text[i:i + length + 1] for i in range(len(text) - length)}
    assert not any(part in corpus for part in parts)


@settings(max_examples=80)
@given(st.integers(2, 200), st.integers(1, 3), st.integers(2, 40), st.data())
def test_windows_score_every_id_once(count: int, first: int, length: int, data: st.DataObject,
                                     ) -> None:
    overlap = data.draw(st.integers(0, length - 1))
    ids = list(range(count))
    rows = windows(ids, min(first, count - 1), length, overlap)
    scored = [one for row in rows for one in list(row.ids)[row.first:]]
    assert scored == ids[min(first, count - 1):]
    assert all(len(row.ids) <= length + 1 and row.first >= 1 for row in rows)
    assert all(row.first == overlap + 1 for row in rows[1:])


def test_prefixes_are_spread_and_the_same_for_a_seed() -> None:
    text = "word " * 2000
    ends = prefix_ends(text, 20, 40, seed=5)
    assert ends == prefix_ends(text, 20, 40, seed=5) != prefix_ends(text, 20, 40, seed=6)
    assert len(ends) == 20 and all(text[end - 1:end + 1] == "d " for end in ends)
    stretch = (len(text) - 40) / 20
    assert all(-5 <= end - 40 - number * stretch <= stretch for number, end in enumerate(ends))


def test_rates_by_hand() -> None:
    usages = [Usage(completion_tokens=11, first_token_ms=100.0, decode_ms=400.0),
              Usage(completion_tokens=21, first_token_ms=300.0, decode_ms=1200.0)]
    found = speed(usages, ["é" * 20, "b" * 60], [1.0, 0.0], [3.0, 1.0])
    assert found.seconds == 2.0 and found.bytes == 100 and found.tokens == 32
    assert found.goodput == 3 / (4 * 2.0)                    # sum(w s) / (sum(w) t)
    assert found.kilobytes_per_second == 0.05
    assert found.tokens_per_second == 30 / 1.6 and found.first_token_ms == 200.0


def scored(*logprobs: float, greedy: bool = False, size: int = 4) -> list[Scored]:
    return [Scored(logprob, greedy, 2, size * (number + 1)) for number, logprob in
            enumerate(logprobs)]


def evaluation(tasks: TaskSet, title: str, *logprobs: tuple[float, float]) -> Evaluation:
    items = [item_score(item, scored(*pair, greedy=pair[0] > -1)[:len(item.choices)])
             for item, pair in zip(tasks.items, logprobs, strict=True)]
    return Evaluation(title, title, "m", None, 1e9, "tasks", Subject("t", tasks.sha256), "gpu",
                      task_score(tasks, items, 2.0))


TASKS = load_tasks(lines(GOOD, {**GOOD, "context": "b", "answer": 1, "weight": 3},
                         {"context": "c", "cloze": " d"}))


def test_accuracy_is_weighted_and_by_bytes() -> None:
    found = evaluation(TASKS, "one", (-1.0, -3.0), (-2.0, -2.5), (-0.5, 0.0)).score
    first, second, cloze = found.items
    assert (first.correct, second.correct, cloze.correct) == (True, False, True)
    # By bytes: -1/4 against -3/8, and -2/4 against -2.5/8.
    assert (first.correct_per_byte, second.correct_per_byte) == (True, True)
    assert found.choice.accuracy == 1 / 4 and found.choice.accuracy_per_byte == 1.0
    assert found.choice.chance == 0.5 and found.cloze.chance == 0
    assert found.accuracy == 2 / 5 and found.goodput == 2 / (5 * 2.0)
    spread = math.sqrt((1 * 0.75) ** 2 + (3 * 0.25) ** 2) / 4
    assert math.isclose(found.choice.standard_error, spread)


def test_two_evaluations_and_the_items_that_flip() -> None:
    one = evaluation(TASKS, "one", (-1.0, -3.0), (-2.0, -2.5), (-0.5, 0.0))
    two = evaluation(TASKS, "two", (-1.0, -3.0), (-2.0, -1.5), (-5.0, 0.0))
    found = compare(one, two)
    assert [(flip.line, flip.first, flip.second) for flip in found.flips] == [
        (2, False, True), (3, True, False)]
    row = next(row for row in found.rows if row.name == "choices: accuracy")
    assert (row.first, row.second, row.difference, row.better) == (0.25, 1.0, 0.75, "second")
    assert "| 2 |  | \"b\" | \"loud\" | two |" in found.to_markdown()
    other = replace(two, subject=Subject("t", "0" * 64))
    with pytest.raises(SettingsError, match="different things"):
        compare(one, other)
    with pytest.raises(SettingsError, match="kinds"):
        compare(one, replace(two, kind="text"))


def test_a_changed_file_is_refused() -> None:
    good = evaluation(TASKS, "one", (-1.0, -3.0), (-2.0, -2.5), (-0.5, 0.0)).to_json()
    assert Evaluation.from_json(json.loads(json.dumps(good))).to_json() == good
    score = good["result"]["score"]
    for change in ({"items": 3}, {"items": [{}]}, {"accuracy": "high"}, {"extra": 1},
                   {"items": [{**score["items"][0], "logprobs": [0.0]}]},
                   {"items": [{**score["items"][0], "chosen": 7}]},
                   {"items": [{**score["items"][0], "correct": 1}]}):
        result = {**good["result"], "score": {**score, **change}}
        with pytest.raises(CheckpointError):
            Evaluation.from_json({**good, "result": result})


def test_conditions_without_an_adapter_or_a_text() -> None:
    find = Retriever([Passage("The sky.", 0)])
    names = [[one.name for one in settings_of(adapter, TASKS.items[:1], retriever)]
             for adapter, retriever in ((None, None), (None, find), ("poems", None),
                                        ("poems", find))]
    assert names == [["base", "few-shot"], ["base", "few-shot", "base + retrieval"],
                     ["base", "few-shot", "adapter"],
                     ["base", "few-shot", "adapter", "adapter + retrieval"]]
