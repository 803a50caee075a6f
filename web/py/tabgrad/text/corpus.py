"""A text to train on: checked UTF-8 bytes, split by position into training and validation.

Most models that are trained here read bytes (V = 256), so a corpus is an array of bytes. It is
still required to be UTF-8 text: a picture or a spreadsheet chosen by mistake should be noticed
here, not after an hour of training.
"""

from __future__ import annotations

import codecs
import hashlib
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import DataError

Bytes = NDArray[np.uint8]
Units = NDArray[np.uint8] | NDArray[np.uint16]
"""What a model reads of a text: bytes, or the ids of its tokens."""
_Units = TypeVar("_Units", NDArray[np.uint8], NDArray[np.uint16])

PREVIEW_CHARACTERS = 280
_PIECE = 1 << 20
_LANGUAGE_SAMPLE = 20_000
_SCRIPT_NAMES = {"LATIN": "Latin", "GREEK": "Greek", "CYRILLIC": "Cyrillic", "ARABIC": "Arabic",
                 "HEBREW": "Hebrew", "DEVANAGARI": "Devanagari", "CJK": "Chinese",
                 "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean",
                 "THAI": "Thai", "ARMENIAN": "Armenian", "GEORGIAN": "Georgian"}


@dataclass(frozen=True)
class Corpus:
    """A named text.

    Args:
        name: what to call it; for a file, its name.
        data: (length,) uint8, the UTF-8 bytes.
        builtin: True for the texts that come with the page.

    Example:
        >>> corpus = Corpus.from_bytes("hello", b"hello world " * 20)
        >>> len(corpus), corpus.characters, corpus.language
        (240, 240, 'mostly Latin letters')
        >>> train, validation = corpus.split(context_length=16)
        >>> len(train), len(validation)
        (216, 24)
    """

    name: str
    data: Bytes = field(repr=False)
    builtin: bool = False

    @classmethod
    def from_bytes(cls, name: str, data: bytes, builtin: bool = False) -> Corpus:
        """Checks that `data` is UTF-8, drops a byte order mark, and wraps it.

        Raises:
            DataError: empty, or not UTF-8 text.
        """
        data = _without_mark(bytes(data))
        _check_utf8(data)
        return cls(name, np.frombuffer(data, dtype=np.uint8), builtin)

    def __len__(self) -> int:
        return len(self.data)

    @cached_property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the bytes: the name under which the text is stored."""
        return hashlib.sha256(self.data.tobytes()).hexdigest()

    @cached_property
    def characters(self) -> int:
        """Number of Unicode characters (code points)."""
        # In UTF-8 every byte except those of the form 10xxxxxx starts a character.
        return int(np.count_nonzero((self.data & 0xC0) != 0x80))

    @cached_property
    def preview(self) -> str:
        """The first few lines, never cut inside a character."""
        head = self.data[:4 * PREVIEW_CHARACTERS].tobytes()
        return codecs.getincrementaldecoder("utf-8")().decode(head)[:PREVIEW_CHARACTERS]

    @cached_property
    def language(self) -> str:
        """Which letters the text is mostly written in; no claim about the language itself."""
        head = self.data[:4 * _LANGUAGE_SAMPLE].tobytes()
        text = codecs.getincrementaldecoder("utf-8")().decode(head)[:_LANGUAGE_SAMPLE]
        return script_guess(text)

    def split(self, context_length: int) -> tuple[Bytes, Bytes]:
        """Training part and validation part in bytes; see `split_by_position`.

        Raises:
            DataError: the text is shorter than one window.
        """
        return split_by_position(self.data, context_length)

    def describe(self) -> dict[str, object]:
        """The `Corpus` of protocol.json."""
        return {"sha256": self.sha256, "name": self.name, "bytes": len(self),
                "characters": self.characters, "preview": self.preview,
                "language": self.language, "builtin": self.builtin}


def split_by_position(units: _Units, context_length: int,
                      unit: str = "bytes") -> tuple[_Units, _Units]:
    """Training part and validation part of a text.

    The last tenth is held back; a short text holds back one window (context + 1 units)
    instead; a text with less than two windows holds back nothing.

    Args:
        units: (n,) the text.
        context_length: T, the positions of one training window.
        unit: what one is called.
    Returns:
        (training (n,), validation (m,)); m is 0 or at least T + 1.
    Raises:
        DataError: the text is shorter than one window.
    """
    check_length(len(units), context_length, unit)
    window = context_length + 1
    held = max(len(units) // 10, window)
    if len(units) < 2 * window:
        held = 0
    cut = len(units) - held
    return units[:cut], units[cut:]


def check_length(length: int, context_length: int, unit: str = "bytes") -> None:
    """Raises DataError when `length` units cannot fill one window of `context_length` + 1."""
    window = context_length + 1
    if length >= window:
        return
    if length == 0:
        raise DataError("This file is empty.", control="corpus",
                        remedy=f"Choose one with at least {window} characters.")
    raise DataError("This text is too short for the context length.", control="corpus",
                    expected=f"at least {window} {unit} for a context of {context_length}",
                    received=f"{length} {unit}",
                    remedy="Choose a longer text or a smaller context length.")


def script_guess(text: str) -> str:
    """Names the one or two scripts that most letters of `text` belong to.

    Example:
        >>> script_guess("Привет, мир"), script_guess("1 + 1 = 2"), script_guess("кот cat")
        ('mostly Cyrillic letters', 'no letters', 'Cyrillic and Latin letters')
    """
    scripts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if character.isalpha():
            first = unicodedata.name(character, "OTHER").split()[0]
            scripts[_SCRIPT_NAMES.get(first, "other")] += count
    total = scripts.total()
    if total == 0:
        return "no letters"
    ranked = scripts.most_common(2)
    if ranked[0][1] >= 0.8 * total:
        return f"mostly {ranked[0][0]} letters"
    return f"{ranked[0][0]} and {ranked[1][0]} letters"


def _without_mark(data: bytes) -> bytes:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError("This file is UTF-16 text.", expected="UTF-8 text", control="corpus",
                        received="a UTF-16 byte order mark",
                        remedy="Save it as UTF-8 and choose it again.")
    return data.removeprefix(codecs.BOM_UTF8)


def _check_utf8(data: bytes) -> None:
    # In pieces, so that a large file never exists a second time as a Python string.
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _PIECE):
        pending = len(decoder.getstate()[0])
        piece = data[start:start + _PIECE]
        try:
            decoder.decode(piece, final=start + _PIECE >= len(data))
        except UnicodeDecodeError as error:
            position = start - pending + error.start
            raise DataError("This file is not UTF-8 text.", expected="UTF-8 text",
                            received=f"byte 0x{data[position]:02X} at position {position:,}",
                            remedy="Choose a plain text file saved as UTF-8.",
                            control="corpus") from error
