"""Ids to text, piece by piece: equal to the Rust library's text of all ids, whatever they are."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models

from tabgrad.errors import CheckpointError
from tabgrad.platform.native_text import NativeTokenizer
from tabgrad.text.decoding import CHARACTER_OF, Decoding
from tabgrad.text.stream import Detokenizer

SPECIAL = ("<s>", "<｜end▁of▁sentence｜>")
WORDS = ("▁", "▁▁", "▁the", "s", " ", "  ", " a ", "é", "ab▁c", "🙂", "<0x", "<0xZZ>", "\ufffd")
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
SPACES, FUSE = decoders.Replace("▁", " "), decoders.Fuse()
DECODERS = {
    "byte-level": decoders.ByteLevel(),
    "gemma": decoders.Sequence([SPACES, decoders.ByteFallback(), FUSE]),
    "llama": decoders.Sequence([SPACES, decoders.ByteFallback(), FUSE,
                                decoders.Strip(" ", 1, 0)]),
    "strip the beginning": decoders.Sequence([SPACES, FUSE, decoders.Strip(" ", 2, 0)]),
    "strip each": decoders.Sequence([decoders.Strip(" ", 1, 0), SPACES]),
    "metaspace": decoders.Metaspace(),
    "metaspace, first": decoders.Metaspace(prepend_scheme="first"),
    "metaspace, never": decoders.Metaspace(prepend_scheme="never"),
    "fallback alone": decoders.ByteFallback(),
    "none": None,
}


def rust(decoder: decoders.Decoder | None) -> Tokenizer:
    """A vocabulary in which a few tokens can make anything go wrong."""
    tokens = list(dict.fromkeys([*WORDS, *BYTE_TOKENS, *CHARACTER_OF.values()]))
    made = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=[]))
    made.add_special_tokens([AddedToken(token, normalized=False) for token in SPECIAL])
    if decoder is not None:
        made.decoder = decoder
    return made


MADE = {name: rust(decoder) for name, decoder in DECODERS.items()}
SIZE = MADE["none"].get_vocab_size()
CUTS = st.lists(st.lists(st.integers(0, SIZE + 3), max_size=6), max_size=12)



def pieces(tokenizer: NativeTokenizer, cuts: list[list[int]], skip: bool) -> list[str]:
    texts = Detokenizer(tokenizer, skip)
    return [*(texts.feed(ids) for ids in cuts), texts.finish()]


@pytest.mark.parametrize("name", DECODERS)
def test_all_pieces_are_the_text_of_all_ids(name: str) -> None:
    ours = NativeTokenizer(MADE[name].to_str().encode())

    @given(CUTS, st.booleans())
    def check(cuts: list[list[int]], skip: bool) -> None:
        whole = [one for ids in cuts for one in ids]
        expected = MADE[name].decode(whole, skip_special_tokens=skip)
        assert "".join(pieces(ours, cuts, skip)) == expected
        assert "".join(pieces(ours, [[one] for one in whole], skip)) == expected

    check()


@pytest.mark.parametrize("name", ["byte-level", "llama"])
@given(text=st.text(max_size=40))
def test_no_piece_holds_half_a_character(name: str, text: str) -> None:
    ours = NativeTokenizer(MADE[name].to_str().encode())
    written: Callable[[int], str] = (CHARACTER_OF.__getitem__ if name == "byte-level"
                                     else BYTE_TOKENS.__getitem__)
    ids = [ours.token_to_id(written(byte)) for byte in text.encode()]
    assert None not in ids
    shown = pieces(ours, [[one] for one in ids if one is not None], True)
    assert "".join(shown) == (text.removeprefix(" ") if name == "llama" else text)
    assert all("\ufffd" not in piece or "\ufffd" in text for piece in shown)


@given(st.lists(st.text(" a", max_size=3), max_size=8))
def test_the_end_is_stripped_too(tokens: list[str]) -> None:
    # Rust panics where a text is shorter than what may be stripped, so it cannot be asked.
    decoding = Decoding({"type": "Sequence", "decoders": [
        {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 0, "stop": 2}]})
    text = "".join(map(decoding.feed, tokens)) + decoding.finish()
    assert text == "".join(tokens).removesuffix(" ").removesuffix(" ")


def test_a_finished_stream_begins_anew() -> None:
    ours = NativeTokenizer(MADE["llama"].to_str().encode())
    the = MADE["llama"].token_to_id("▁the")
    texts = Detokenizer(ours)
    assert [texts.feed([the, the]), texts.finish()] == ["the the", ""]
    assert [texts.feed([the]), texts.finish()] == ["the", ""]


@pytest.mark.parametrize("described", [
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""},
    {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]},
])
def test_unknown_decoders_are_refused_by_name(described: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match="not known here"):
        Decoding(described)


def test_the_decoder_crosses_as_the_file_describes_it() -> None:
    for made in MADE.values():
        described = json.loads(made.to_str())
        assert NativeTokenizer(made.to_str().encode()).decoder == described["decoder"]
