"""Finding the passages of a text that are like a question: BM25 over character trigrams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import DataError

GRAM = 3
PASSAGE_CHARACTERS = 240
MOST_PASSAGES = 50_000
K1, B = 1.5, 0.75
"""Of BM25: how soon repetition stops to matter, and how much a passage's length does."""


@dataclass(frozen=True)
class Passage:
    """A piece of the text.

    Args:
        text: of it.
        offset: where it begins, in characters.
    """

    text: str
    offset: int


def passages(text: str, characters: int = PASSAGE_CHARACTERS) -> list[Passage]:
    """A text in pieces that end at a line break, else a sentence, else a space where they can.

    Every character is in exactly one of them; pieces of white space alone are left out.

    Args:
        text: of any length.
        characters: the longest piece.

    Example:
        >>> [one.text for one in passages("One two. Three four five.", 12)]
        ['One two. ', 'Three four ', 'five.']
    """
    found, start = [], 0
    while start < len(text):
        end = min(start + characters, len(text))
        if end < len(text):
            cuts = (text.rfind(mark, start, end) + len(mark) if mark in text[start:end] else 0
                    for mark in ("\n", ". ", " "))
            end = next((cut for cut in cuts if cut > start), end)
        if text[start:end].strip():
            found.append(Passage(text[start:end], start))
        start = end
    return found


def trigrams(text: str) -> Counter[str]:
    """How often each run of three characters stands in a text; case and kinds of space aside.

    Example:
        >>> sorted(trigrams("A  cat").items())
        [(' a ', 1), (' ca', 1), ('a c', 1), ('at ', 1), ('cat', 1)]
    """
    plain = f" {' '.join(text.casefold().split())} "
    return Counter(plain[i:i + GRAM] for i in range(len(plain) - GRAM + 1))


class Retriever:
    """Ranks passages by BM25, with trigrams of characters in place of words.

        score(q, d) = sum over g in q of  idf(g) f / (f + k1 (1 - b + b |d| / mean |d|))
        idf(g) = log(1 + (N - n(g) + 0.5) / (n(g) + 0.5))

    f is how often g stands in d, n(g) how many passages have it; each g of the question counts as
    often as it stands there. Trigrams need no word list, so any language and any spelling works.

    Args:
        texts: the passages.

    Raises:
        DataError: none, or too many.

    Source: Robertson and Zaragoza, "The probabilistic relevance framework: BM25 and beyond", 2009;
    idf as in Lucene, never negative.

    Example:
        >>> find = Retriever(passages("The tower is high. The river is deep and cold. ", 20))
        >>> [one.text for one in find("How deep is the river?", 1)]
        ['The river is deep ']
    """

    def __init__(self, texts: Sequence[Passage]) -> None:
        if not 1 <= len(texts) <= MOST_PASSAGES:
            raise DataError("There must be passages to choose from.", control="corpus",
                            expected=f"1 to {MOST_PASSAGES:,}", received=f"{len(texts):,}")
        self.passages = tuple(texts)
        counts = [trigrams(one.text) for one in texts]
        sizes = np.array([one.total() for one in counts], np.float64)    # (N)
        self._length = K1 * (1 - B + B * sizes / sizes.mean())           # (N)
        places: dict[str, list[int]] = {}
        times: dict[str, list[int]] = {}
        for number, one in enumerate(counts):
            for gram, count in one.items():
                places.setdefault(gram, []).append(number)
                times.setdefault(gram, []).append(count)
        self._places = {gram: np.array(one, np.uint32) for gram, one in places.items()}
        self._times = {gram: np.array(one, np.float64) for gram, one in times.items()}

    def __call__(self, question: str, count: int = 1) -> list[Passage]:
        """The passages with the largest scores, the best first; the earlier of equal ones.

        Args:
            question: what to look for.
            count: most passages; those with nothing in common are left out.
        """
        scores = self.scores(question)                                   # (N)
        order = np.argsort(-scores, kind="stable")[:count]
        return [self.passages[one] for one in order if scores[one] > 0]

    def scores(self, question: str) -> NDArray[np.float64]:
        """BM25 of every passage: (N)."""
        total = np.zeros(len(self.passages))                             # (N)
        for gram, weight in sorted(trigrams(question).items()):
            at = self._places.get(gram)
            if at is None:
                continue
            frequency = self._times[gram]                                # (n)
            inverse = np.log(1 + (len(total) - len(at) + 0.5) / (len(at) + 0.5))
            total[at] += weight * inverse * frequency / (frequency + self._length[at])
        return total
