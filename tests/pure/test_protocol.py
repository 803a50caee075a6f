"""The table of messages is complete, and what is not in it is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabgrad.app.protocol import Protocol, load_protocol
from tabgrad.errors import ProtocolError

TABLE = json.loads((Path(__file__).parents[2] / "web" / "protocol.json").read_text())
PLAIN = {"string": "a", "integer": 3, "number": 0.5, "boolean": False, "object": {"a": 1},
         "bytes": b"ab", "files": [{"name": "a", "size": 1}]}
WRONG = {"string": 3, "integer": 0.5, "number": "a", "boolean": 0, "object": [], "bytes": "ab",
         "files": "a"}
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
                    max_leaves=8)


def example(kind: str):
    if kind.endswith("?"):
        return None
    if kind.startswith("list:"):
        return [example(kind[5:])] * 2
    if kind in TABLE["types"]:
        return fields_of(TABLE["types"][kind])
    return PLAIN[kind]


def fields_of(fields: dict) -> dict:
    return {name: example(kind) for name, kind in fields.items()}


@pytest.mark.parametrize("name", TABLE["to_worker"])
def test_each_command_and_reply_accepts_what_it_says(name):
    entry = TABLE["to_worker"][name]
    load_protocol().check_command(name, fields_of(entry["fields"]))
    load_protocol().check_reply(name, fields_of(entry["reply"]))
    assert sum(kind == "bytes" for kind in entry["fields"].values()) <= 1
    assert (load_protocol().bytes_field(name) is None) == ("bytes" not in entry["fields"].values())


@pytest.mark.parametrize("name", TABLE["to_page"])
def test_each_event_accepts_what_it_says(name):
    load_protocol().check_event(name, fields_of(TABLE["to_page"][name]["fields"]))


def paths() -> list[tuple[str, str, str]]:
    return [(name, field, kind) for name, entry in TABLE["to_worker"].items()
            for field, kind in entry["fields"].items()]


@pytest.mark.parametrize(("name", "field", "kind"), paths())
def test_a_missing_or_wrong_field_is_named(name, field, kind):
    fields = fields_of(TABLE["to_worker"][name]["fields"])
    bare = kind.removesuffix("?")
    wrong = WRONG.get(bare, 3)
    with pytest.raises(ProtocolError, match=rf"{name}\.{field} is not"):
        load_protocol().check_command(name, {**fields, field: wrong})
    if not kind.endswith("?"):
        missing = {key: value for key, value in fields.items() if key != field}
        with pytest.raises(ProtocolError, match=rf"{name}\.{field} is not"):
            load_protocol().check_command(name, missing)


def test_unknown_names_and_fields_are_refused():
    protocol = load_protocol()
    with pytest.raises(ProtocolError, match="no command named 'boom'"):
        protocol.check_command("boom", {})
    with pytest.raises(ProtocolError, match="no message named 'boom'"):
        protocol.check_event("boom", {})
    with pytest.raises(ProtocolError, match="pause has no field 'now'"):
        protocol.check_command("pause", {"now": True})
    run = fields_of(TABLE["types"]["Run"])
    run["corpus"] = {**run["corpus"], "size": 3}
    with pytest.raises(ProtocolError, match=r"restore reply\.run\.corpus has no field 'size'"):
        protocol.check_reply("restore", {"run": run, "history": fields_of(
            TABLE["types"]["History"])})


def test_a_number_that_is_none_is_refused():
    event = {"run": "a", "point": {"step": 1, "loss": float("nan")}}
    with pytest.raises(ProtocolError, match=r"validation\.point\.loss"):
        load_protocol().check_event("validation", event)


def test_every_type_that_the_table_uses_is_defined():
    entries = [*TABLE["types"].values(), *(e["fields"] for e in TABLE["to_page"].values())]
    entries += [part for e in TABLE["to_worker"].values() for part in (e["fields"], e["reply"])]
    for fields in entries:
        for kind in fields.values():
            bare = kind.removesuffix("?")
            while bare.startswith("list:"):
                bare = bare[5:]
            assert bare in PLAIN or bare in TABLE["types"], kind


def test_an_undefined_type_is_an_error_of_the_table():
    protocol = Protocol({"types": {}, "to_page": {},
                         "to_worker": {"a": {"fields": {"b": "strin"}, "reply": {}}}})
    with pytest.raises(ProtocolError, match="does not define"):
        protocol.check_command("a", {"b": "c"})


@given(st.sampled_from(list(TABLE["to_worker"])) | st.text(), st.dictionaries(st.text(), JSON))
def test_any_message_gives_an_answer_or_our_error(name, fields):
    try:
        load_protocol().check_command(name, fields)
    except ProtocolError:
        return
    expected = TABLE["to_worker"][name]["fields"]
    assert all(kind.endswith("?") or field in fields for field, kind in expected.items())
