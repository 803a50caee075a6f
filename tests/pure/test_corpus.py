"""Texts: what is accepted, what is said of them, how they are split and streamed."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabgrad.errors import DataError
from tabgrad.text.corpus import _PIECE, Corpus, script_guess
from tabgrad.text.stream import TextStream


@given(st.text(min_size=1))
def test_any_text_is_described_rightly(text):
    raw = text.encode()
    corpus = Corpus.from_bytes("t", raw)
    stripped = raw.removeprefix(b"\xef\xbb\xbf")
    assert corpus.data.tobytes() == stripped
    assert corpus.characters == len(stripped.decode())
    assert stripped.decode().startswith(corpus.preview)
    assert corpus.sha256 == hashlib.sha256(stripped).hexdigest()
    assert corpus.describe()["bytes"] == len(stripped)


def test_the_byte_order_mark_goes():
    assert Corpus.from_bytes("t", b"\xef\xbb\xbfabc").data.tobytes() == b"abc"


@pytest.mark.parametrize("position", [0, 1, 9, _PIECE - 2, _PIECE - 1, _PIECE, _PIECE + 5])
def test_a_bad_byte_is_named_with_its_position(position):
    data = bytearray(b"a" * (_PIECE + 10))
    data[position] = 0xFF
    with pytest.raises(DataError, match=f"byte 0xFF at position {position:,}"):
        Corpus.from_bytes("t", bytes(data))


def test_a_character_over_two_pieces_is_fine_and_a_cut_one_is_not():
    assert len(Corpus.from_bytes("t", b"a" * (_PIECE - 1) + "é".encode() + b"b")) == _PIECE + 2
    with pytest.raises(DataError, match="not UTF-8"):
        Corpus.from_bytes("t", b"abc\xc3")


def test_utf16_is_recognised():
    with pytest.raises(DataError, match="UTF-16"):
        Corpus.from_bytes("t", "hello".encode("utf-16"))


def test_empty_and_short_texts_say_what_is_needed():
    with pytest.raises(DataError, match=r"empty\. Choose one with at least 129 characters\."):
        Corpus.from_bytes("t", b"").split(128)
    with pytest.raises(DataError, match=r"at least 129 bytes.*Received: 128 bytes"):
        Corpus.from_bytes("t", b"a" * 128).split(128)
    train, validation = Corpus.from_bytes("t", b"a" * 129).split(128)
    assert (len(train), len(validation)) == (129, 0)


@given(st.integers(9, 3000), st.integers(1, 100))
def test_the_split_is_by_position_and_both_parts_hold_a_window(length, context):
    corpus = Corpus.from_bytes("t", bytes(i % 100 for i in range(length)))
    if length <= context:
        with pytest.raises(DataError):
            corpus.split(context)
        return
    train, validation = corpus.split(context)
    assert train.tobytes() + validation.tobytes() == corpus.data.tobytes()
    assert len(train) > context
    assert len(validation) == 0 or len(validation) > context
    if length >= 10 * (context + 1):
        assert len(validation) == length // 10


@pytest.mark.parametrize(("text", "guess"), [
    ("Hello there, world", "mostly Latin letters"), ("Γειά σου Κόσμε", "mostly Greek letters"),
    ("你好世界", "mostly Chinese letters"), ("", "no letters"), ("123 + 4", "no letters"),
    ("שלום עולם", "mostly Hebrew letters"), ("abc где", "Latin and Cyrillic letters")])
def test_script_guess(text, guess):
    assert script_guess(text) == guess


@given(st.text(), st.lists(st.integers(0, 40)))
def test_a_stream_gives_whole_characters_only(text, cuts):
    raw, stream, got, start = text.encode(), TextStream(), "", 0
    for cut in [*sorted(cuts), len(raw)]:
        piece = stream.feed(raw[start:cut])
        assert "\ufffd" not in piece or "\ufffd" in text
        got, start = got + piece, max(start, cut)
    assert got + stream.finish() == text


@given(st.binary(), st.integers(0, 20))
def test_a_stream_of_any_bytes_equals_decoding_at_once(raw, cut):
    stream = TextStream()
    got = stream.feed(raw[:cut]) + stream.feed(raw[cut:]) + stream.finish()
    assert got == raw.decode("utf-8", errors="replace")
