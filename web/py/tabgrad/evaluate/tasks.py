"""Task sets: JSONL whose lines are questions with an answer; see docs/evaluation.md."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabgrad.data.documents import BadLine
from tabgrad.data.lines import Unusable, read_object
from tabgrad.errors import DataError

MOST_BYTES = 2**24
MOST_ITEMS = 20_000
LONGEST_TEXT = 100_000
MOST_CHOICES = 26
MOST_WEIGHT = 1e6
MOST_BAD = 100
FIELDS = {"context", "choices", "answer", "cloze", "weight"}
BUILT_IN = ("everyday", "endings")
"""Sets that ship; `builtin` reads them."""


@dataclass(frozen=True)
class Item:
    """One question.

    Args:
        line: its number in the file, from 1.
        context: what comes before the answer, as the model reads it.
        choices: answers to choose from; a cloze has one.
        answer: index of the right one.
        cloze: whether greedy writing must give the answer; otherwise the likeliest choice counts.
        weight: how much it counts.
    """

    line: int
    context: str
    choices: tuple[str, ...]
    answer: int
    cloze: bool
    weight: float = 1.0

    @property
    def expected(self) -> str:
        """The right answer."""
        return self.choices[self.answer]


@dataclass(frozen=True)
class TaskSet:
    """The items of a file.

    Args:
        name: what to call it.
        items: all that can be read.
        bad_lines: the others, the first hundred of them.
        bad_count: how many there are.
        sha256: of the items, so that two evaluations can be compared item by item.
    """

    name: str
    items: tuple[Item, ...]
    bad_lines: tuple[BadLine, ...]
    bad_count: int
    sha256: str


def load_tasks(data: bytes, name: str = "tasks") -> TaskSet:
    r"""Reads a task set from anywhere: bounded, strict, and never with a guess.

    Args:
        data: JSONL in UTF-8: {"context", "choices": [...], "answer": index, "weight"?} or
            {"context", "cloze": text, "weight"?} on each line. Empty lines do not count.
        name: what to call it.

    Raises:
        DataError: too long, not UTF-8, or without a single item.

    Example:
        >>> tasks = load_tasks(b'{"context": "The sky is", "choices": [" blue", " loud"], '
        ...                    b'"answer": 0}\n{"context": "One, two,", "cloze": " three"}\n{"')
        >>> len(tasks.items), tasks.items[1].expected, tasks.bad_lines[0].line
        (2, ' three', 3)
    """
    if len(data) > MOST_BYTES:
        raise DataError("This task set is too long.", expected=f"at most {MOST_BYTES:,} bytes",
                        received=f"{len(data):,} bytes", control="tasks")
    items: list[Item] = []
    bad: list[BadLine] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        if len(items) == MOST_ITEMS:
            raise DataError("This task set has too many items.",
                            expected=f"at most {MOST_ITEMS:,}", control="tasks")
        try:
            items.append(_item(number, read_object(line)))
        except Unusable as error:
            bad.append(BadLine(number, str(error)[:200]))
    if not items:
        raise DataError("There is no item in this task set.", control="tasks",
                        expected='a line like {"context": "The sky is", "cloze": " blue"}',
                        received=f"line {bad[0].line}: {bad[0].reason}" if bad else "nothing")
    return TaskSet(name, tuple(items), tuple(bad[:MOST_BAD]), len(bad), _sha256(items))


def builtin(name: str) -> TaskSet:
    """A set that ships: `tabgrad/tasks/` in the wheel, `web/tasks/` in a checkout.

    Raises:
        DataError: there is none of that name.
    """
    if name not in BUILT_IN:
        raise DataError("There is no such task set.", expected=", ".join(BUILT_IN),
                        received=repr(name)[:80], control="tasks")
    package = Path(__file__).parents[1]
    places = (package / "tasks", package.parents[1] / "tasks")
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        raise DataError("The task sets are missing from this installation of tabgrad.")
    return load_tasks((folder / f"{name}.jsonl").read_bytes(), name)


def _item(line: int, table: Mapping[str, Any]) -> Item:
    unknown = sorted(table.keys() - FIELDS)
    if unknown:
        raise Unusable(f"unknown field {unknown[0][:40]!r}")
    if ("choices" in table) == ("cloze" in table):
        raise Unusable("an item has either choices or a cloze")
    context, weight = _text(table, "context", empty=True), _weight(table.get("weight", 1))
    if "cloze" in table:
        if "answer" in table:
            raise Unusable("a cloze has no answer beside it")
        return Item(line, context, (_text(table, "cloze"),), 0, True, weight)
    choices = table["choices"]
    if not isinstance(choices, list) or not 2 <= len(choices) <= MOST_CHOICES:
        raise Unusable(f"choices is a list of 2 to {MOST_CHOICES} texts")
    texts = tuple(_text({"a choice": one}, "a choice") for one in choices)
    if len(set(texts)) != len(texts):
        raise Unusable("two choices are the same")
    answer = table.get("answer")
    if type(answer) is not int or not 0 <= answer < len(texts):
        raise Unusable(f"answer is a whole number from 0 to {len(texts) - 1}")
    return Item(line, context, texts, answer, False, weight)


def _text(table: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    value = table.get(name)
    if not isinstance(value, str):
        raise Unusable(f"{name} is a text")
    if len(value) > LONGEST_TEXT:
        raise Unusable(f"{name} has more than {LONGEST_TEXT:,} characters")
    if not empty and not value.strip():
        raise Unusable(f"{name} has nothing in it")
    return value


def _weight(value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not 0 < value <= MOST_WEIGHT:
        raise Unusable(f"weight is a number above 0, at most {MOST_WEIGHT:g}")
    return float(value)


def _sha256(items: list[Item]) -> str:
    plain = [[one.context, one.choices, one.answer, one.cloze, one.weight] for one in items]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()
