"""Presets that read no bytes: words of a list, or tokens that are learned from the run's text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import DataError
from tabgrad.models.recipe import PRESETS
from tabgrad.text.bpe_trainer import BpeSettings
from tabgrad.text.corpus import Corpus, split_by_position
from tabgrad.text.word_tokenizer import WordTokenizer


@dataclass(frozen=True)
class PresetText:
    """What a preset reads.

    Args:
        tokenizer: turns its texts into ids and back.
        corpus: the text that it learns.
        prompt: how a sample of what it has learned begins.
    """

    tokenizer: WordTokenizer
    corpus: Corpus
    prompt: str

    def parts(self, corpus: Corpus, context_length: int) -> Sequence[NDArray[np.uint16]]:
        """Training part and validation part of a text, as ids.

        Raises:
            DataError: a word that the tokenizer lacks, or less than one window of tokens.
        """
        try:
            ids = self.tokenizer.encode(corpus.data.tobytes().decode("utf-8"))
        except DataError as error:
            error.control = "corpus"
            raise
        return split_by_position(np.array(ids, np.uint16), context_length, "tokens")


WORDS = ("<pad>", "<bos>", "<eos>", "What", " is", " 1", "+", "1", "?", " It's", " 2", ".")
SPECIAL = {"pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<eos>"}

PRESET_TEXTS = {
    "readable-llm": PresetText(
        WordTokenizer(WORDS, SPECIAL),
        Corpus.from_bytes("One question, for readable-llm", b"What is 1+1? It's 2.<eos>",
                          builtin=True),
        "What is 1+1?"),
}


def preset_text(name: str) -> PresetText | None:
    """What a preset reads; None for one that reads bytes.

    Example:
        >>> preset_text("readable-llm").tokenizer.encode("What is 1+1? It's 2.<eos>")
        [3, 4, 5, 6, 7, 8, 9, 10, 11, 2]
        >>> preset_text("tiny") is None
        True
    """
    return PRESET_TEXTS.get(name)


END_OF_TEXT = "<|endoftext|>"
LEARNED = ("bpe-gpt-5m", "bpe-gpt-15m", "llama-5m")


def preset_vocabulary(name: str) -> BpeSettings | None:
    """How the vocabulary of a preset is learned; None for one that comes with its own.

    Example:
        >>> preset_vocabulary("bpe-gpt-5m").vocab_size
        4096
        >>> preset_vocabulary("tiny") is None
        True
    """
    if name not in LEARNED:
        return None
    return BpeSettings(PRESETS[name].vocab_size, special_tokens=(END_OF_TEXT,))
