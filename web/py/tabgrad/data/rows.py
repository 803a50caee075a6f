"""Rows as the model reads them: three arrays, made once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabgrad.data.documents import Document
from tabgrad.data.pieces import Piece
from tabgrad.data.source import IGNORED, Batch, Ids


class Rows:
    """Pieces laid out in rows.

    Args:
        documents: that the pieces are of.
        rows: the pieces of each row, which fit into it.
        context_length: T.

    Attributes:
        pieces: as given.
        ids, targets, starts: (R, T) uint32; see `Batch`. Padding has ids 0, targets `IGNORED`, and
            looks at nothing but itself.
        trained: (R,) int64, targets of each row that count.
    """

    def __init__(self, documents: Sequence[Document], rows: Sequence[Sequence[Piece]],
                 context_length: int) -> None:
        shape = (len(rows), context_length)
        self.pieces = rows
        self.ids: Ids = np.zeros(shape, np.uint32)
        self.targets: Ids = np.full(shape, IGNORED, np.uint32)
        self.starts: Ids = np.zeros(shape, np.uint32)
        for row, pieces in enumerate(rows):
            at = 0
            for piece in pieces:
                document = documents[piece.document]
                end, last = at + piece.count, piece.first + piece.count
                following = document.ids[piece.first + 1:last + 1]
                counts = document.trained[piece.first + 1:last + 1]
                self.ids[row, at:end] = document.ids[piece.first:last]
                np.copyto(self.targets[row, at:end], following, where=counts)
                self.starts[row, at:end] = at
                at = end
            self.starts[row, at:] = at
        self.trained: NDArray[np.int64] = np.count_nonzero(self.targets != IGNORED, axis=1)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: NDArray[np.int64]) -> Batch:
        """A batch of these rows; a number of -1 gives a row of padding."""
        missing = rows < 0
        batch = Batch(self.ids[rows], self.targets[rows], self.starts[rows])
        batch.ids[missing] = 0
        batch.targets[missing] = IGNORED
        batch.starts[missing] = 0
        return batch
