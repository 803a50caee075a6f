"""Learning a BPE vocabulary: equal to PyPI's `tokenizers`, and its words to that library's."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tabgrad import platform
from tabgrad.text.bpe_files import bpe_files
from tabgrad.text.bpe_trainer import Bpe, BpeSettings, train_bpe
from tabgrad.text.categories import LETTERS, NUMBERS, SPACES, Ranges
from tabgrad.text.decoding import BYTE_OF
from tabgrad.text.split import gpt2_pattern, slices
from tabgrad.text.tokenizer import load_tokenizer
from tools.corpora import shakespeare

BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False)
SURROGATES = range(0xD800, 0xE000)
# Few letters make the same pairs often, and the same token from several pairs.
FEW = st.text(st.sampled_from("aab '1\n"), max_size=80)


def learned(text: str, wanted: BpeSettings) -> Bpe:
    return platform.current().run_sync(train_bpe(text, wanted))


def model_of(text: str, wanted: BpeSettings) -> dict[str, Any]:
    """What the library learns."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = BYTE_LEVEL
    tokenizer.train_from_iterator([text], trainers.BpeTrainer(
        vocab_size=wanted.vocab_size, min_frequency=wanted.min_frequency,
        special_tokens=list(wanted.special_tokens), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    model: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return model


def assert_equal(bpe: Bpe, model: dict[str, Any]) -> None:
    assert [list(pair) for pair in bpe.merges] == model["merges"]
    assert bpe.vocab == model["vocab"]


def words(text: str) -> list[str]:
    """The library's words of a text."""
    return [bytes(BYTE_OF[one] for one in word).decode()
            for word, _ in BYTE_LEVEL.pre_tokenize_str(text)]


def test_a_megabyte_of_shakespeare() -> None:
    text = shakespeare(Path(sys.executable))[:1_000_000].decode()
    wanted = BpeSettings(vocab_size=4096, special_tokens=("<|endoftext|>",))
    assert_equal(learned(text, wanted), model_of(text, wanted))


@settings(max_examples=150)
@given(st.lists(FEW, max_size=4).map(" ".join) | st.text(max_size=60), st.integers(0, 40),
       st.integers(0, 3), st.sampled_from([(), ("<s>",), ("a", "<pad>"), ("ab",)]))
def test_any_text(text: str, merges: int, least: int, special: tuple[str, ...]) -> None:
    wanted = BpeSettings(256 + len(special) + merges, least, special)
    assert_equal(learned(text, wanted), model_of(text, wanted))


@settings(max_examples=150)
@given(st.text(max_size=60) | FEW, st.integers(1, 10))
def test_the_words_of_a_text(text: str, length: int) -> None:
    assert gpt2_pattern().findall(text) == words(text)
    assert [word for part in slices(text, length) for word in gpt2_pattern().findall(part)] \
        == words(text)


def test_categories_of_every_code_point() -> None:
    """All letters together are one word, and so are all of each other kind."""
    kinds = [_listed(LETTERS), _listed(NUMBERS), _listed(SPACES)]
    points = [chr(point) for point in range(0x110000) if point not in SURROGATES]
    others = set("".join(kinds))
    signs = "".join(one for one in points if one not in others)
    assert len(signs) + sum(len(kind) for kind in kinds) == len(points)
    for text, known in zip([*kinds, signs], "x1\n!", strict=True):
        for start in range(0, len(text), 1000):
            together = known + text[start:start + 1000]
            assert len(BYTE_LEVEL.pre_tokenize_str(together)) == 1


def _listed(kind: Ranges) -> str:
    return "".join(chr(point) for first, last in kind for point in range(first, last + 1))


@settings(max_examples=60)
@given(st.text() | st.binary().map(lambda data: data.decode("utf-8", "replace")))
def test_any_text_is_read_and_written(text: str) -> None:
    tokenizer = platform.current().run_sync(load_tokenizer(_files(BPE)))
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.vocab_size == len(BPE.vocab)


BPE = learned("the cat sat on the mat, né? " * 3, BpeSettings(300, special_tokens=("<eos>",)))


def _files(bpe: Bpe) -> Any:
    files = bpe_files(bpe)

    async def read(name: str) -> bytes | None:
        return files.get(name)

    return read
