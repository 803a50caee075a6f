"""WordTokenizer: a vocabulary of a few words, written down in full."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tabgrad.errors import DataError
from tabgrad.text.tokenizer import SETTINGS, TOKENIZER

GENERATION = "generation_config.json"
_SHOWN = 20
# Only these: JavaScript's regular expressions know no escaped space.
_MEANINGFUL = re.compile(r"[\\^$.*+?()\[\]{}|]")


class WordTokenizer:
    r"""Cuts a text into the words of a list, the longest first; the id is the place in the list.

    Decoding joins the words again, so a word that follows another one begins with its space.

    Args:
        words: the vocabulary.
        special: "pad_token", "bos_token", "eos_token" -> the word that stands for it.

    Example:
        >>> tokenizer = WordTokenizer(["<eos>", "one", " one", "."], {"eos_token": "<eos>"})
        >>> tokenizer.encode("one one one.<eos>")
        [1, 2, 2, 3, 0]
        >>> tokenizer.decode([1, 2, 3, 0], skip_special_tokens=True)
        'one one.'
    """

    def __init__(self, words: Sequence[str], special: Mapping[str, str]) -> None:
        self.words = tuple(words)
        self.special = dict(special)
        self._ids = {word: identity for identity, word in enumerate(self.words)}
        self._pattern = re.compile(_alternatives(self.words))
        self._special_ids = frozenset(self._ids[word] for word in self.special.values())

    @property
    def vocab_size(self) -> int:
        """Words, special ones included."""
        return len(self.words)

    @property
    def stop_ids(self) -> frozenset[int]:
        """Ids that end a text."""
        return frozenset([self._ids[self.special["eos_token"]]])

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Ids of a text; nothing is added to it.

        Raises:
            DataError: a part of the text is no word of the list.
        """
        ids: list[int] = []
        at = 0
        while at < len(text):
            found = self._pattern.match(text, at)
            if found is None:
                known = ", ".join(f'"{word}"' for word in self.words)
                raise DataError(f"This model knows {len(self.words)} words and no others.",
                                expected=known, received=repr(text[at:at + _SHOWN]))
            ids.append(self._ids[found[0]])
            at = found.end()
        return ids

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """The words of ids, joined."""
        hidden = self._special_ids if skip_special_tokens else ()
        return "".join(self.words[one] for one in ids if one not in hidden)

    def token_to_id(self, token: str) -> int | None:
        """The id of a word; None where there is none."""
        return self._ids.get(token)

    def id_to_token(self, identity: int) -> str | None:
        """The word of an id; None where there is none."""
        return self.words[identity] if 0 <= identity < len(self.words) else None

    def files(self) -> dict[str, bytes]:
        """Hugging Face's files that say the same: name -> JSON.

        Other libraries pass over what is no word of the list, where `encode` refuses it.
        """
        ids = {name: self._ids[word] for name, word in self.special.items()}
        tables: dict[str, dict[str, Any]] = {
            TOKENIZER: self._tokenizer_json(),
            SETTINGS: {"tokenizer_class": "PreTrainedTokenizerFast", **self.special,
                       "clean_up_tokenization_spaces": False},
            GENERATION: {**{f"{name}_id": identity for name, identity in ids.items()},
                         "do_sample": False}}
        return {name: (json.dumps(table, indent=1) + "\n").encode()
                for name, table in tables.items()}

    def _tokenizer_json(self) -> dict[str, Any]:
        special = set(self.special.values())
        plain = [word for word in self.words if word not in special]
        return {
            "version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [
                {"id": identity, "content": word, "single_word": False, "lstrip": False,
                 "rstrip": False, "normalized": False, "special": True}
                for word, identity in self._ids.items() if word in special],
            "normalizer": None,
            "pre_tokenizer": {"type": "Split", "pattern": {"Regex": _alternatives(plain)},
                              "behavior": "Isolated", "invert": False},
            "post_processor": None, "decoder": {"type": "Fuse"},
            # Byte pairs without a single merge: a word of the list is one token because merges
            # are ignored for it. The kind "WordLevel" says so more plainly, but Hugging Face's
            # JavaScript library does not read it.
            "model": {"type": "BPE", "dropout": None, "unk_token": None,
                      "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
                      "vocab": self._ids, "merges": []}}


def _alternatives(words: Sequence[str]) -> str:
    """An expression that matches the longest word that stands here."""
    return "|".join(_MEANINGFUL.sub(r"\\\g<0>", word)
                    for word in sorted(words, key=len, reverse=True))
