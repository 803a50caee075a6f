"""Addresses, indices and headers from anywhere: understood, or refused with our own error."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabgrad.checkpoint.facts import problem_of
from tabgrad.checkpoint.hub import plain_name, resolve
from tabgrad.checkpoint.listing import licence_of_readme
from tabgrad.checkpoint.safetensors import decode_header
from tabgrad.checkpoint.shards import (
    INDEX_LIMIT,
    StoredTensor,
    check_file_name,
    gather,
    header_bytes,
    parse_index,
)
from tabgrad.checkpoint.strict_json import parse_object
from tabgrad.errors import CheckpointError, DownloadError, TabgradError
from tests.tiny_model import CONFIG

HUB = "https://huggingface.co"
ADDRESSES = {
    "Qwen/Qwen3-0.6B": (f"{HUB}/Qwen/Qwen3-0.6B/resolve/main/", "Qwen--Qwen3-0.6B"),
    " Qwen/Qwen3-0.6B ": (f"{HUB}/Qwen/Qwen3-0.6B/resolve/main/", "Qwen--Qwen3-0.6B"),
    f"{HUB}/Qwen/Qwen3-0.6B": (f"{HUB}/Qwen/Qwen3-0.6B/resolve/main/", "Qwen--Qwen3-0.6B"),
    f"{HUB}/Qwen/Qwen3-0.6B/": (f"{HUB}/Qwen/Qwen3-0.6B/resolve/main/", "Qwen--Qwen3-0.6B"),
    "https://hf.co/Qwen/Qwen3-0.6B": (f"{HUB}/Qwen/Qwen3-0.6B/resolve/main/",
                                      "Qwen--Qwen3-0.6B"),
    f"{HUB}/a/b/tree/v1.0": (f"{HUB}/a/b/resolve/v1.0/", "a--b-v1.0"),
    f"{HUB}/a/b/tree/main/sub/dir": (f"{HUB}/a/b/resolve/main/sub/dir/", "a--b-sub--dir"),
    f"{HUB}/a/b/blob/main/config.json": (f"{HUB}/a/b/resolve/main/", "a--b"),
    f"{HUB}/a/b/resolve/main/model.safetensors?download=true": (f"{HUB}/a/b/resolve/main/",
                                                               "a--b"),
    "https://x.example/m/": ("https://x.example/m/", "x.example--m"),
    "https://x.example/m": ("https://x.example/m/", "x.example--m"),
    "https://x.example/SmolLM2-1.7B": ("https://x.example/SmolLM2-1.7B/",
                                       "x.example--SmolLM2-1.7B"),
    "https://x.example/m/model.safetensors": ("https://x.example/m/", "x.example--m"),
    "https://x.example": ("https://x.example/", "x.example"),
    "http://127.0.0.1:8000/m/": ("http://127.0.0.1:8000/m/", "127.0.0.1-8000--m"),
    "http://localhost/m": ("http://localhost/m/", "localhost--m"),
}
REFUSED = ["", "a", "a/b/c", "../b", "a/..", "http://x.example/m/", "ftp://x.example/m/",
           "javascript:alert(1)", "https://me:secret@x.example/m/", "https://x.example/m/?key=1",
           f"{HUB}/datasets/a/b", f"{HUB}/spaces/a/b", f"{HUB}/a", HUB,
           f"{HUB}/a/b/tree/main/%2e%2e/c", f"{HUB}/a/b/discussions/1", "file:///etc/passwd",
           "a b/c", "/etc/passwd", "C:\\models"]


@pytest.mark.parametrize("text", ADDRESSES)
def test_what_people_type_is_understood(text: str) -> None:
    source = resolve(text)
    assert (source.address, source.name) == ADDRESSES[text]
    assert (source.api is not None) == source.address.startswith(HUB)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_address_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(DownloadError, match="https"):
        resolve(text)


def test_a_hub_has_a_description_of_the_revision() -> None:
    source = resolve(f"{HUB}/a/b/tree/refs%2Fpr%2F1/sub")
    assert source.api == f"{HUB}/api/models/a/b/revision/refs%2Fpr%2F1?blobs=true"
    assert (source.repository, source.folder) == (f"{HUB}/a/b", "sub/")
    assert resolve("a/b", "http://127.0.0.1:9").address == "http://127.0.0.1:9/a/b/resolve/main/"


@given(st.text(max_size=60))
@settings(max_examples=300)
def test_any_text_is_a_source_or_our_error(text: str) -> None:
    try:
        source = resolve(text)
    except DownloadError:
        return
    assert source.address.startswith(("https://", "http://localhost", "http://127.0.0.1"))
    assert source.address.endswith("/") and plain_name(source.title) == source.name


@given(st.text(max_size=200))
def test_a_folder_name_is_plain(title: str) -> None:
    name = plain_name(title)
    assert 0 < len(name) <= 96 and not name.startswith(".") and not set(name) & set("/\\\0: ")


INDICES: dict[str, tuple[Any, str]] = {
    "no map": ({}, "weight_map"),
    "an empty map": ({"weight_map": {}}, "weight_map"),
    "a list": ({"weight_map": ["a"]}, "weight_map"),
    "above": ({"weight_map": {"a": "../model.safetensors"}}, "not allowed"),
    "below": ({"weight_map": {"a": "sub/model.safetensors"}}, "not allowed"),
    "absolute": ({"weight_map": {"a": "/model.safetensors"}}, "not allowed"),
    "backwards": ({"weight_map": {"a": "..\\model.safetensors"}}, "not allowed"),
    "an address": ({"weight_map": {"a": "https://x/model.safetensors"}}, "not allowed"),
    "a query": ({"weight_map": {"a": "model.safetensors?x"}}, "not allowed"),
    "escaped": ({"weight_map": {"a": "%2e%2e%2fmodel.safetensors"}}, "not allowed"),
    "hidden": ({"weight_map": {"a": ".safetensors"}}, "not allowed"),
    "another kind": ({"weight_map": {"a": "model.bin"}}, "no safetensors"),
    "no text": ({"weight_map": {"a": 3}}, "no safetensors"),
    "too many": ({"weight_map": {str(i): f"{i}.safetensors" for i in range(1001)}}, "too many"),
}


@pytest.mark.parametrize("case", INDICES)
def test_hostile_indices_are_refused(case: str) -> None:
    table, words = INDICES[case]
    with pytest.raises(CheckpointError, match=words):
        parse_index(json.dumps(table).encode())


def test_an_index_is_bounded_and_has_no_name_twice() -> None:
    with pytest.raises(CheckpointError, match="too long"):
        parse_index(b" " * (INDEX_LIMIT + 1))
    with pytest.raises(CheckpointError, match="a name twice"):
        parse_index(b'{"weight_map": {"a": "x.safetensors", "a": "y.safetensors"}}')
    with pytest.raises(CheckpointError, match="web page"):
        parse_index(b"<!doctype html><p>Not found")


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
                    lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=12)


@given(st.dictionaries(st.sampled_from(["weight_map", "metadata"]), JSON, max_size=2))
@settings(max_examples=300)
def test_any_index_is_a_map_of_plain_names_or_our_error(table: dict[str, Any]) -> None:
    try:
        found = parse_index(json.dumps(table).encode())
    except CheckpointError:
        return
    assert all(check_file_name(file, "x") == file for file in found.values())


@given(st.binary(max_size=300))
@settings(max_examples=300)
def test_any_bytes_are_an_object_or_our_error(data: bytes) -> None:
    for parse in (lambda: parse_object(data, "config.json", 200), lambda: parse_index(data)):
        with contextlib.suppress(CheckpointError):
            assert isinstance(parse(), dict)


def file_of(table: dict[str, Any], size: int) -> tuple[bytes, int]:
    """The bytes of a header, and the length of its file."""
    header = json.dumps(table).encode()
    return len(header).to_bytes(8, "little") + header, 8 + len(header) + size


def tensor(start: int, stop: int, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": [(stop - start) // 4], "data_offsets": [start, stop]}


def test_shards_become_one_table() -> None:
    one, two = (decode_header(*file_of(table, 12)) for table in (
        {"a": tensor(0, 4), "b": tensor(4, 12)}, {"c": tensor(0, 12)}))
    found = gather({"1.safetensors": one, "2.safetensors": two},
                   {"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors"})
    assert found["b"] == StoredTensor("b", "1.safetensors", "float32", (2,), one.data_start + 4, 8)
    assert [each.file for each in found.values()] == ["1.safetensors"] * 2 + ["2.safetensors"]


@pytest.mark.parametrize("index, words", [
    ({"a": "2.safetensors"}, "not where"), ({"gone": "1.safetensors"}, "not where"),
])
def test_an_index_that_the_shards_contradict_is_refused(index: dict[str, str], words: str) -> None:
    header = decode_header(*file_of({"a": tensor(0, 4)}, 4))
    with pytest.raises(CheckpointError, match=words):
        gather({"1.safetensors": header}, index)


def test_a_tensor_of_two_shards_is_refused() -> None:
    header = decode_header(*file_of({"a": tensor(0, 4)}, 4))
    with pytest.raises(CheckpointError, match="there twice"):
        gather({"1.safetensors": header, "2.safetensors": header})


ENTRIES = st.fixed_dictionaries({
    "dtype": st.sampled_from(["F32", "BF16", "F16", "BOOL", "I64", "F33", 3, None]),
    "shape": st.lists(st.integers(-2, 2**62), max_size=3) | JSON,
    "data_offsets": st.lists(st.integers(-4, 40), min_size=2, max_size=2) | JSON})


@given(st.dictionaries(st.text(max_size=4), ENTRIES, max_size=3), st.integers(0, 40))
@settings(max_examples=500)
def test_any_header_is_checked_or_our_error(table: dict[str, Any], size: int) -> None:
    data, whole = file_of(table, size)
    try:
        found = gather({"x.safetensors": decode_header(data, whole)})
    except CheckpointError:
        return
    at = len(data)
    for each in sorted(found.values(), key=lambda tensor: tensor.offset):
        assert each.offset == at and each.size >= 0
        at += each.size
    assert at == whole


@given(st.binary(min_size=8, max_size=8))
def test_a_header_is_never_longer_than_its_bound(start: bytes) -> None:
    try:
        assert header_bytes(start) <= 8 + 16 * 2**20
    except CheckpointError as error:
        assert "too long" in str(error)


def test_what_hinders_a_model_is_said() -> None:
    plain = {"a": StoredTensor("a", "x", "float32", (2, 2), 0, 16)}
    names = {"tokenizer.json"}
    assert problem_of(CONFIG, plain, names) is None
    assert "no tokenizer.json" in str(problem_of(CONFIG, plain, set()))
    assert "mystery" in str(problem_of({"model_type": "mystery"}, plain, names))
    packed = {"a": StoredTensor("a", "x", "float8_e4m3", (2, 2), 0, 4)}
    assert "float8_e4m3" in str(problem_of(CONFIG, packed, names))
    mask = {**plain, "m": StoredTensor("m", "x", "bool", (2, 2), 16, 4)}
    assert problem_of(CONFIG, mask, names) is None


@pytest.mark.parametrize("text, licence", [
    ("---\nlicense: mit\n---\n", "mit"), ("---\nlicense: 'mit'\ntags: [a]\n---\n", "mit"),
    ("---\nlicense: other\nlicense_name: gemma\n---\n", "gemma"), ("# A model", None),
    ("---\ntags: [a]\n---\nlicense: mit", None), ("", None),
])
def test_the_licence_of_a_model_card(text: str, licence: str | None) -> None:
    assert licence_of_readme(text) == licence


def test_errors_are_of_one_family() -> None:
    assert issubclass(DownloadError, TabgradError) and DownloadError("x", kind="y").kind == "y"
