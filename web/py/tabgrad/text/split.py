r"""GPT-2's pattern: a text as words with the space before them, numbers, signs and spaces.

    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

Python's `re` knows no \p{L}, so its letters, digits and spaces are written out.

Source: Radford et al., "Language models are unsupervised multitask learners", 2019.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from tabgrad.text.categories import LETTERS, NUMBERS, SPACES, character_class

SLICE = 1 << 16  # characters


@cache
def gpt2_pattern() -> re.Pattern[str]:
    """The compiled pattern; every character of a text belongs to one match.

    Example:
        >>> gpt2_pattern().findall("It's 12  o'clock, né?")
        ['It', "'s", ' 12', ' ', ' o', "'", 'clock', ',', ' né', '?']
    """
    letters, numbers = character_class(LETTERS), character_class(NUMBERS)
    spaces = character_class(SPACES)
    return re.compile(f"'s|'t|'re|'ve|'m|'ll|'d| ?[{letters}]+| ?[{numbers}]+"
                      f"| ?[^{spaces}{letters}{numbers}]+|[{spaces}]+(?![^{spaces}])|[{spaces}]+")


@cache
def _before_space() -> re.Pattern[str]:
    spaces = character_class(SPACES)
    return re.compile(f"(?<=[^{spaces}])[{spaces}]")


def slices(text: str, length: int = SLICE) -> Iterator[str]:
    """Parts of a text whose words are the words of the whole.

    A part ends before a space that follows something else: no match of the pattern goes over such
    a place. A text without one is one part.

    Args:
        text: any.
        length: characters that a part has at least, but for the last.

    Example:
        >>> list(slices("one two  three", 4))
        ['one two', '  three']
    """
    start = 0
    while start < len(text):
        found = _before_space().search(text, start + length)
        end = found.start() if found else len(text)
        yield text[start:end]
        start = end
