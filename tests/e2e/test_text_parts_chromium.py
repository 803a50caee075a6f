"""Each part that a tokenizer.json may have, alone, in Chromium: ids equal the Rust library's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, models, trainers
from tokenizers import normalizers as norm
from tokenizers import pre_tokenizers as pre

from tests.e2e.python_page import PythonPage
from tests.text_samples import CODE, DIGITS, LANGUAGES, samples

EVERY = 4  # every fourth of the samples, and all hand-written ones, is enough for one part
BEHAVIOURS = ("removed", "isolated", "contiguous", "merged_with_previous", "merged_with_next")


def made(pre_tokenizer: Any = None, normalizer: Any = None, *, byte_level: bool = False,
         added: tuple[AddedToken, ...] = (), fuse_unk: bool = False) -> Tokenizer:
    """A small tokenizer, trained on the hand-written texts."""
    tokenizer = Tokenizer(models.BPE(unk_token=None if byte_level else "<unk>",
                                     fuse_unk=fuse_unk))
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator([*LANGUAGES, *CODE, *DIGITS] * 3, trainers.BpeTrainer(
        vocab_size=1200, limit_alphabet=300, special_tokens=["<unk>"], show_progress=False,
        initial_alphabet=pre.ByteLevel.alphabet() if byte_level else []))
    tokenizer.add_tokens(list(added))
    return tokenizer


def byte_level(**settings: Any) -> pre.ByteLevel:
    return pre.ByteLevel(**{"add_prefix_space": False, **settings})


def special(text: str, **settings: bool) -> tuple[AddedToken, ...]:
    return (AddedToken(text, special=True, normalized=False, **settings),)


def split(behaviour: str, invert: bool) -> Callable[[], Tokenizer]:
    return lambda: made(pre.Split(Regex(r"\s+|\p{P}"), behaviour, invert=invert))


PARTS: dict[str, Callable[[], Tokenizer]] = {
    **{f"Split {behaviour}{' inverted' if invert else ''}": split(behaviour, invert)
       for behaviour in BEHAVIOURS for invert in (False, True)},
    "Split at a text": lambda: made(pre.Split(" ", "merged_with_previous")),
    "Digits": lambda: made(pre.Digits(individual_digits=False)),
    "Digits, each": lambda: made(pre.Sequence([pre.Digits(individual_digits=True), byte_level()]),
                                 byte_level=True),
    "ByteLevel": lambda: made(byte_level(), byte_level=True),
    "ByteLevel, a space first": lambda: made(byte_level(add_prefix_space=True), byte_level=True),
    "ByteLevel, not split": lambda: made(byte_level(use_regex=False), byte_level=True),
    "Metaspace always": lambda: made(pre.Metaspace()),
    "Metaspace first": lambda: made(pre.Metaspace(prepend_scheme="first"), added=special("<x>")),
    "Metaspace never": lambda: made(pre.Metaspace(prepend_scheme="never")),
    "NFC": lambda: made(None, norm.NFC()), "NFD": lambda: made(None, norm.NFD()),
    "NFKC": lambda: made(None, norm.NFKC()), "NFKD": lambda: made(None, norm.NFKD()),
    "Lowercase": lambda: made(None, norm.Lowercase()),
    "Prepend, Replace": lambda: made(None, norm.Sequence([
        norm.Prepend("▁"), norm.Replace(" ", "▁"), norm.Replace(Regex(r"\s+"), "_")])),
    "unknown ones fused": lambda: made(pre.Digits(), fuse_unk=True),
    "unknown ones apart": lambda: made(pre.Digits()),
    "token that takes spaces": lambda: made(byte_level(), byte_level=True, added=(
        *special("<l>", lstrip=True), *special("<r>", rstrip=True))),
    "tokens in normal form": lambda: made(pre.Digits(), norm.Lowercase(), added=(
        AddedToken("Hello", normalized=True), AddedToken("<Z>", normalized=False))),
}


@pytest.mark.parametrize("part", PARTS)
def test_ids_are_those_of_the_rust_library(part: str, browser_python: PythonPage) -> None:
    oracle = PARTS[part]()
    all_texts = samples([token.content for token in oracle.get_added_tokens_decoder().values()])
    texts = all_texts[:-2000] + all_texts[-2000::EVERY]
    got = browser_python(f"""
import json
from tabgrad import platform
tokenizer = await platform.current().tokenizer({oracle.to_str()!r}.encode())
[tokenizer.encode(text, True) for text in json.loads({json.dumps(texts)!r})]
""")
    wrong = [(text, ids, expected) for text, ids in zip(texts, got, strict=True)
             if ids != (expected := oracle.encode(text).ids)]
    assert not wrong, f"{len(wrong)} of {len(texts)}: {wrong[:3]}"
