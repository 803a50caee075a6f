"""The tokenizer of a few words, and that Hugging Face's library reads its files the same way."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tabgrad.errors import DataError
from tabgrad.models.preset_text import SPECIAL, WORDS, preset_text
from tabgrad.text.word_tokenizer import WordTokenizer

OURS = WordTokenizer(WORDS, SPECIAL)
THEIRS = Tokenizer.from_str(OURS.files()["tokenizer.json"].decode())
SENTENCE = "What is 1+1? It's 2.<eos>"


def test_the_sentence() -> None:
    ids = [3, 4, 5, 6, 7, 8, 9, 10, 11, 2]
    assert OURS.encode(SENTENCE) == ids == THEIRS.encode(SENTENCE).ids
    assert OURS.decode(ids) == SENTENCE
    assert OURS.decode(ids, skip_special_tokens=True) == SENTENCE.removesuffix("<eos>")
    assert preset_text("readable-llm").corpus.data.tobytes().decode() == SENTENCE


@given(st.lists(st.sampled_from(WORDS)))
def test_any_text_of_the_words_as_hugging_face_reads_it(words: list[str]) -> None:
    text = "".join(words)
    ids = OURS.encode(text)
    assert ids == THEIRS.encode(text).ids
    assert OURS.decode(ids) == text == THEIRS.decode(ids, skip_special_tokens=False)
    assert OURS.decode(ids, True) == THEIRS.decode(ids, skip_special_tokens=True)


def test_the_table_of_words() -> None:
    assert OURS.vocab_size == 12 == THEIRS.get_vocab_size()
    for identity, word in enumerate(WORDS):
        assert OURS.token_to_id(word) == identity == THEIRS.token_to_id(word)
        assert OURS.id_to_token(identity) == word
    assert OURS.token_to_id("two") is None and OURS.id_to_token(12) is None
    assert OURS.stop_ids == {2}


@pytest.mark.parametrize("text", ["What is 3?", "what", "What is it", "1 2 3"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="12 words"):
        OURS.encode(text)


def test_the_other_files() -> None:
    settings = json.loads(OURS.files()["tokenizer_config.json"])
    assert (settings["pad_token"], settings["bos_token"], settings["eos_token"]) == WORDS[:3]
    generation = json.loads(OURS.files()["generation_config.json"])
    assert generation == {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
                          "do_sample": False}
