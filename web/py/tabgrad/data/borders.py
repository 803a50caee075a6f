"""Borders between characters, as borders between tokens: nothing but `encode` and `decode`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeVar

_Sequence = TypeVar("_Sequence", str, list[int])


class Coder(Protocol):
    """What is needed of `text.tokenizer.Tokenizer`."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Ids of a text."""

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids."""


@dataclass(frozen=True)
class Border:
    """A place between two characters, among tokens.

    Args:
        token: the first token that has something of what follows.
        inside: whether that token also has something of what comes before.
    """

    token: int
    inside: bool = False


class NoBorder(ValueError):
    """A place that cannot be found among the tokens for sure."""


def find_borders(tokenizer: Coder, text: str, ids: Sequence[int],
                 places: Sequence[int]) -> list[Border]:
    """Where places of a text lie among its tokens.

    Two ways prove a border. The pieces between the places, each encoded by itself, give together
    the very ids of the text. Or else what stands before the place, encoded by itself, gives the
    first k ids; where it does not, k ids give less text than that and k + 1 more, and token k
    reaches over the place.

    Args:
        tokenizer: that made the ids.
        text: the text.
        ids: of the text, without special tokens added.
        places: in characters, in order.

    Raises:
        NoBorder: neither way proves it.

    Example:
        >>> from tabgrad.text.tokenizer import ByteTokenizer, Tokenizer
        >>> tokenizer = Tokenizer(ByteTokenizer(), {}, {}, ())
        >>> find_borders(tokenizer, "né!", tokenizer.encode("né!"), [1, 2])
        [Border(token=1, inside=False), Border(token=3, inside=False)]
    """
    borders, together = [], list[int]()
    for begin, end in pairwise([0, *places, len(text)]):
        if end > begin:
            together += tokenizer.encode(text[begin:end], add_special_tokens=False)
        borders.append(Border(len(together)))
    if together == list(ids):
        return borders[:-1]
    return [_decoded(tokenizer, text, ids, place) for place in places]


def common_length(first: _Sequence, second: _Sequence) -> int:
    """How much both begin with, by comparing halves and never one by one in Python.

    Example:
        >>> common_length("abcd", "abxd"), common_length([1, 2], [1, 2, 3])
        (2, 2)
    """
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _decoded(tokenizer: Coder, text: str, ids: Sequence[int], place: int) -> Border:
    before = tokenizer.encode(text[:place], add_special_tokens=False)
    if common_length(before, list(ids)) == len(before):
        return Border(len(before))
    # Tokenizers may normalise (é in one character or two): what counts is the text of the ids.
    whole, head = tokenizer.decode(ids), tokenizer.decode(before)
    after = tokenizer.encode(text[place:], add_special_tokens=False)
    if head + tokenizer.decode(after) != whole:
        raise NoBorder("its answers cannot be told from the rest among the tokens")
    return _over(tokenizer, whole, ids, len(head), common_length(before, list(ids)))


def _over(tokenizer: Coder, whole: str, ids: Sequence[int], place: int, shared: int) -> Border:
    """The token that reaches over a place; the first `shared` tokens lie before it."""
    def length(count: int) -> int | None:
        """Characters that the first ids give; None where the last one is not complete."""
        given = tokenizer.decode(ids[:count])
        return len(given) if whole.startswith(given) else None

    first = next((k for k in range(shared, 0, -1) if length(k) is not None), 0)
    for k in range(first + 1, len(ids) + 1):
        reached = length(k)
        if reached == place:
            return Border(k)
        if reached is not None and reached > place:
            if k == first + 1:
                return Border(first, inside=True)
            break
        if reached is not None:
            first = k
    raise NoBorder("one of its answers begins or ends inside a character of several tokens")
