"""Our safetensors against the real package, both ways, and against hostile headers."""

from __future__ import annotations

import json

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tabgrad.checkpoint.safetensors import decode, decode_header, encode
from tabgrad.errors import CheckpointError

DTYPES = ["<f4", "<f8", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"]
ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0,
                                                     max_side=5)))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).filter(
    lambda name: name != "__metadata__")
TENSORS = st.dictionaries(NAMES, ARRAYS, max_size=5)
METADATA = st.dictionaries(NAMES, st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
                           max_size=3)


def build(table: object, data: bytes = b"") -> bytes:
    header = table if isinstance(table, bytes) else json.dumps(table).encode()
    return len(header).to_bytes(8, "little") + header + data


def same(ours: dict, theirs: dict) -> None:
    assert set(ours) == set(theirs)
    for name, array in theirs.items():
        assert ours[name].dtype == array.dtype and ours[name].shape == array.shape
        assert ours[name].tobytes() == array.tobytes()


@given(TENSORS, METADATA)
@settings(max_examples=200)
def test_the_real_package_reads_what_we_write(tensors, metadata):
    same(safetensors.numpy.load(b"".join(encode(tensors, metadata))), tensors)


@given(TENSORS, METADATA)
@settings(max_examples=200)
def test_we_read_what_the_real_package_writes(tensors, metadata):
    # The real package writes broken JSON for metadata without tensors; there is nothing to read.
    assume(tensors)
    got, got_metadata = decode(safetensors.numpy.save(tensors, metadata or None))
    same(got, tensors)
    assert got_metadata == metadata


@given(TENSORS)
@settings(max_examples=100)
def test_bytes_equal_the_real_package(tensors):
    assert b"".join(encode(tensors)) == safetensors.numpy.save(tensors)


@given(TENSORS.filter(bool), st.data())
@settings(max_examples=400)
def test_a_damaged_file_is_refused_or_still_valid_for_the_real_package(tensors, data):
    raw = bytearray(b"".join(encode(tensors)))
    length = 8 + int.from_bytes(raw[:8], "little")
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, length - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        raw = raw[:data.draw(st.integers(0, len(raw)))]
    try:
        got, _ = decode(bytes(raw))
    except CheckpointError:
        return
    theirs = safetensors.deserialize(bytes(raw))
    assert {name: bytes(entry["data"]) for name, entry in theirs} == {
        name: array.tobytes() for name, array in got.items()}


@given(st.binary(max_size=200))
def test_random_bytes_raise_only_our_error(raw):
    try:
        decode(raw)
    except CheckpointError:
        return
    assert safetensors.deserialize(raw) is not None


def entry(start, end, dtype="F32", shape=None):
    return {"dtype": dtype, "shape": [(end - start) // 4] if shape is None else shape,
            "data_offsets": [start, end]}


HOSTILE = {
    "too short": (b"\x01\x00", "too short"),
    "huge length": ((1 << 62).to_bytes(8, "little") + b"{}", "too long"),
    "length past the end": ((50).to_bytes(8, "little") + b"{}", "ends inside"),
    "not an object": (build(b"[]"), "not a JSON object"),
    "broken json": (build(b"{]"), "not valid JSON"),
    "deep json": (build(b'{"a":' * 100_000), "not valid JSON"),
    "not utf-8": (build(b'{"\xff":1}'), "not valid JSON"),
    "lone surrogate": (build(b'{"\\ud800":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
                       "not valid JSON"),
    "nan": (build(b'{"a":NaN}'), "not valid JSON"),
    "long number": (build(b'{"a":' + b"9" * 5000 + b"}"), "not valid JSON"),
    "duplicate": (build(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
                        b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'), "twice"),
    "metadata not text": (build({"__metadata__": {"a": 1}}), "only text"),
    "extra field": (build({"a": {**entry(0, 4), "b": 1}}, bytes(4)), "wrong fields"),
    "unknown dtype": (build({"a": entry(0, 4, "F33", [1])}, bytes(4)), "not known"),
    "negative shape": (build({"a": entry(0, 4, shape=[-1, -1])}, bytes(4)), "no sizes"),
    "boolean shape": (build({"a": entry(0, 4, shape=[True])}, bytes(4)), "no sizes"),
    "fraction": (build({"a": entry(0, 4, shape=[1.0])}, bytes(4)), "no sizes"),
    "overflowing shape": (build({"a": entry(0, 4, shape=[1 << 62, 1 << 62, 4])}, bytes(4)),
                          "does not fit"),
    "huge size": (build({"a": entry(0, 4, shape=[1 << 63])}, bytes(4)), "no sizes"),
    "range and shape differ": (build({"a": entry(0, 8, shape=[1])}, bytes(8)), "does not fit"),
    "backwards": (build({"a": entry(4, 0, shape=[0])}, bytes(4)), "does not fit"),
    "hole": (build({"a": entry(0, 4), "b": entry(8, 12)}, bytes(12)), "hole"),
    "hole at the start": (build({"a": entry(4, 8)}, bytes(8)), "hole"),
    "overlap": (build({"a": entry(0, 8), "b": entry(4, 8)}, bytes(8)), "overlaps"),
    "outside the file": (build({"a": entry(0, 400)}, bytes(4)), "does not have the length"),
    "bytes left over": (build({"a": entry(0, 4)}, bytes(5)), "does not have the length"),
    "bad bool": (build({"a": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}}, b"\x02"),
                 "neither 0 nor 1"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused(case):
    raw, words = HOSTILE[case]
    with pytest.raises(CheckpointError, match=words):
        decode(raw)


def test_header_alone_is_enough_to_know_the_layout():
    raw = b"".join(encode({"a": np.zeros((2, 3), np.float32), "b": np.zeros(1, np.int64)}))
    header = decode_header(raw[:8 + int.from_bytes(raw[:8], "little")], len(raw))
    assert [(name, e.dtype, e.shape, e.end - e.start) for name, e in header.entries.items()] == [
        ("b", "I64", (1,), 8), ("a", "F32", (2, 3), 24)]
    assert header.data_start % 8 == 0


def test_bfloat16_comes_as_raw_bits():
    raw = build({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}},
                b"\x80\x3f\x00\x40")
    assert decode(raw)[0]["a"].tolist() == [0x3F80, 0x4000]


def test_complex_numbers_cannot_be_written():
    with pytest.raises(CheckpointError, match="lacks"):
        list(encode({"a": np.zeros(2, np.complex64)}))
