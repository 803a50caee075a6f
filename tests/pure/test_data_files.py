"""Files of training data: kinds by content, bad lines by number, hostile input refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabgrad.data import Chat, Text, parse
from tabgrad.data.lines import MAX_LINE, MAX_MESSAGES
from tabgrad.errors import DataError

USER, ANSWER = {"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}
GOOD_CHAT = {"messages": [USER, ANSWER]}
REASONS: list[tuple[Any, str]] = [
    ("{", "not JSON"), ("[1]", "not a JSON object"), ("{} {}", "not JSON"), ({}, 'no "text"'),
    ('{"text": "a", "text": "b"}', 'the name "text" stands twice'),
    ('{"text": "\\ud800"}', "lone surrogate"), ('{"text": "a", "x": NaN}', "NaN"),
    ('{"text": "a", "x": ' + "[" * 80 + "]" * 80 + "}", "deeper than 64"),
    ("[" * 200_000, "deeper than 64"), ('{"n": 1' + "0" * 5000 + "}", "not JSON"),
    ({"text": "x" * MAX_LINE}, "longer than"), ({"text": " \n"}, "the text is empty"),
    ({"text": 3}, '"text" is not a text'), ({"text": "a", **GOOD_CHAT}, "both"),
    (GOOD_CHAT, "a conversation, where line 1 is another kind")]
CHAT_REASONS: list[tuple[Any, str]] = [
    ({"messages": {}}, "not a list"), ({"messages": []}, "is empty"),
    ({"messages": [USER]}, "nothing is learned"), ({"messages": [1]}, "message 1 is not an object"),
    ({"messages": [ANSWER] * (MAX_MESSAGES + 1)}, "more than 1000 messages"),
    ({"messages": [USER, {"content": "x"}]}, "message 2 has no role"),
    ({"messages": [{"role": "bot", "content": "x"}]}, 'message 1 has the role "bot"'),
    ({"messages": [{"role": "assistant"}]}, "message 1 has no content"),
    ({"messages": [{"role": "assistant", "content": 1}]}, "the content of message 1 is not text"),
    ({"messages": [{**USER, "content": [{"type": "image"}]}, ANSWER]}, "message 1 is not text"),
    ({"messages": [{"role": "assistant", "tool_calls": "x"}]}, '"tool_calls" is not a list'),
    ({**GOOD_CHAT, "tools": [1]}, '"tools" is not a list'),
    ({"text": "a"}, "a text, where line 1 is another kind")]

JUNK = [b'{"text": "a"}', b'{"messages": [', b'"', b"\\", b"\n", b"{", b"}", b"[", b"]", b"\\ud800",
        b'{"messages": [{"role": "assistant", "content": "x"}]}', b"\xff"]


def lines(*tables: Any) -> bytes:
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in tables).encode()


@pytest.mark.parametrize(("good", "cases"), [({"text": "a"}, REASONS), (GOOD_CHAT, CHAT_REASONS)],
                         ids=["texts", "chats"])
def test_bad_lines_are_listed_with_their_reasons(good: Any, cases: list[tuple[Any, str]]) -> None:
    # Good ones between: most lines of a JSONL file can be read.
    tables = [each for table, _ in cases for each in (good, table)]
    parsed = parse("data", lines(*tables))
    assert len(parsed.documents) == len(cases)
    assert [one.line for one in parsed.bad_lines] == list(range(2, 2 * len(cases) + 1, 2))
    assert parsed.bad_count == len(cases)
    for found, (_, reason) in zip(parsed.bad_lines, cases, strict=True):
        assert reason in found.reason, found


def test_the_kind_is_found_by_content() -> None:
    assert parse("a.jsonl", b"Once upon a time").kind == "text"
    assert parse("a.json", b'{\n "text": "pretty"\n}').kind == "text"
    assert parse("a.txt", lines({"id": 1, "text": "a"}, "", {"text": "b"}, "")).kind == "texts"
    assert parse("a.txt", "\ufeff".encode() + lines({"text": "é"})).documents == (Text(1, "é"),)
    windows = parse("a", lines({"text": "a"}, {"text": "b"}).replace(b"\n", b"\r\n"))
    assert windows.documents == (Text(1, "a"), Text(2, "b"))
    first_is_bad = parse("a.txt", b"oops\n" + lines(GOOD_CHAT, GOOD_CHAT))
    assert first_is_bad.kind == "chats" and first_is_bad.bad_lines[0].line == 1
    assert parse("a", lines({**GOOD_CHAT, "tools": [{}]})).documents == (
        Chat(1, [USER, ANSWER], [{}]),)


@pytest.mark.parametrize(("data", "message"), [
    (b"", "empty"), (b" \n\n", "empty"), (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"PK\x03\x04rest", "a zip archive"), ("text".encode("utf-16"), "UTF-16"),
    ("text".encode("utf-16-le"), "zero byte at position 1"), (b"caf\xe9", "not UTF-8"),
    (b'[{"text": "a"},\n {"text": "b"}]', "one JSON array"),
    (lines({"text": ""}, {"text": ""}), "Not one line.*line 1: the text is empty")])
def test_what_is_no_training_data_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse("file", data)


def test_a_long_list_of_bad_lines_is_counted_and_not_kept() -> None:
    parsed = parse("data", lines(*[{"text": "a"}] * 20, *[{"text": ""}] * 3000))
    assert parsed.bad_count == 3000 and len(parsed.bad_lines) == 1000


@settings(max_examples=150)
@given(st.binary(max_size=80) | st.lists(st.sampled_from(JUNK), max_size=12).map(b"".join))
def test_junk_is_read_or_refused(data: bytes) -> None:
    try:
        parsed = parse("junk", data)
    except DataError:
        return
    assert parsed.documents and parsed.bad_count >= len(parsed.bad_lines)
