"""Rows as a person reads them: the tokens that the model sees, and which of them are learned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tabgrad.data.documents import Document
from tabgrad.data.pieces import Piece
from tabgrad.errors import DataError
from tabgrad.text.stream import Detokenizer


@dataclass(frozen=True)
class Shown:
    """One token of a row.

    Args:
        text: the characters that it completes; "" where it is the first part of a character.
        id: of the token.
        trained: whether it is learned.
        document: number of its document, from 0.
    """

    text: str
    id: int
    trained: bool
    document: int


def show(documents: Sequence[Document], pieces: Iterable[Piece],
         numbers: Sequence[int]) -> list[Shown]:
    """The tokens of one row: of each piece the first id, then what is to follow each.

    Args:
        documents: that the pieces are of.
        pieces: of the row.
        numbers: what each document is called.

    Raises:
        DataError: a document does not know its tokenizer.
    """
    row: list[Shown] = []
    for piece in pieces:
        document = documents[piece.document]
        if document.tokenizer is None:
            raise DataError("Ids are shown with their tokenizer, and this document has none.")
        stretch = slice(piece.first, piece.first + piece.count + 1)
        ids, learned = document.ids[stretch].tolist(), document.trained[stretch].tolist()
        learned[0] = False                     # nothing in this row stands before it
        texts = Detokenizer(document.tokenizer, skip_special_tokens=False)
        pieces_of_text = [texts.feed([one]) for one in ids]
        pieces_of_text[-1] += texts.finish()
        number = numbers[piece.document]
        row += [Shown(text, one, trained, number)
                for text, one, trained in zip(pieces_of_text, ids, learned, strict=True)]
    return row
