"""Documents cut to the context, and pieces packed into rows.

A document of n ids has n - 1 pairs of an id and the one that follows it. A piece is a run of at
most T pairs, one for each position of a row, so no target ever belongs to another document.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad.data.documents import Document


@dataclass(frozen=True)
class Piece:
    """A run of pairs: ids[first:first + count], and what follows each.

    Args:
        document: its place in the list of documents.
        first: the first position of it.
        count: pairs.
    """

    document: int
    first: int
    count: int


@dataclass(frozen=True)
class Cut:
    """What became of some documents.

    Args:
        pieces: in the order of the documents; only those with something to learn.
        truncated_documents: how many were longer than the context, and lost their end.
        truncated_tokens: ids that they lost.
    """

    pieces: list[Piece]
    truncated_documents: int
    truncated_tokens: int


def cut(documents: Sequence[Document], context_length: int) -> Cut:
    """Cuts documents into pieces of at most `context_length` pairs.

    A text goes on in further pieces, so that each id of it but the first is a target exactly once.
    One that must be seen from its beginning (`Document.whole`) keeps what fits.

    Example:
        >>> text = Document(np.arange(6, dtype=np.uint32), np.ones(6, bool))
        >>> [(piece.first, piece.count) for piece in cut([text], 3).pieces]
        [(0, 3), (3, 2)]
    """
    pieces, truncated_documents, truncated_tokens = [], 0, 0
    for number, document in enumerate(documents):
        pairs = len(document.ids) - 1
        if document.whole and pairs > context_length:
            truncated_documents += 1
            truncated_tokens += pairs - context_length
            pairs = context_length
        for first in range(0, pairs, context_length):
            count = min(context_length, pairs - first)
            if document.trained[first + 1:first + 1 + count].any():
                pieces.append(Piece(number, first, count))
    return Cut(pieces, truncated_documents, truncated_tokens)


def pack(lengths: NDArray[np.int64], context_length: int) -> list[list[int]]:
    """Puts pieces together into rows: best fit, the longest first.

    Each piece goes into the row with the least room that is enough; there are seldom many more rows
    than the fewest possible (Johnson, 1973: at most 11/9 of them, and four more).

    Args:
        lengths: (P,) of the pieces, each 1 to `context_length`.
        context_length: T, positions of a row.

    Returns:
        For each row the numbers of its pieces.

    Example:
        >>> pack(np.array([2, 5, 3, 4]), 7)
        [[1, 0], [3, 2]]
    """
    rows: list[list[int]] = []
    having: dict[int, list[int]] = {}       # room -> rows that have it
    rooms: list[int] = []                   # those rooms, in order
    for piece in np.argsort(-lengths, kind="stable").tolist():
        length = int(lengths[piece])
        place = bisect_left(rooms, length)
        if place == len(rooms):
            row, room = len(rows), context_length
            rows.append([])
        else:
            room = rooms[place]
            row = having[room].pop()
            if not having[room]:
                del having[room], rooms[place]
        rows[row].append(piece)
        left = room - length
        if left and left not in having:
            insort(rooms, left)
        if left:
            having.setdefault(left, []).append(row)
    return rows
