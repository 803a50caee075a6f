"""Dataset: documents as rows, in an order that depends on nothing but seed and step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad.data.documents import Document
from tabgrad.data.pieces import Piece, cut, pack
from tabgrad.data.preview import Shown, show
from tabgrad.data.rows import Rows
from tabgrad.data.source import Batch
from tabgrad.data.split import ROWS_STREAM, permutation, split
from tabgrad.errors import DataError, SettingsError
from tabgrad.reference.philox import check_range


@dataclass(frozen=True)
class DataFacts:
    """What training data amounts to.

    Args:
        documents: all of them.
        tokens: ids of all documents.
        trained_tokens: targets that count in one epoch of the training rows.
        truncated_documents: that are longer than the context and lose their end.
        truncated_tokens: ids that they lose.
        rows: for training.
        held_out_documents: that are not trained on; the end of a single text counts as one.
    """

    documents: int
    tokens: int
    trained_tokens: int
    truncated_documents: int
    truncated_tokens: int
    rows: int
    held_out_documents: int


class Dataset:
    """Rows of documents. In each epoch every row comes once, in another order.

    Row g of a run, counted over steps, micro-batches and rows, is row g mod R of the order of epoch
    g div R. The orders come from Philox, so a batch is a pure function of seed and counters.

    Args:
        documents: as `tokenize` makes them.
        context_length: T, positions of a row.
        seed: of split and order; 0 <= seed < 2**64.
        packing: whether several documents share a row; none sees another, by `Batch.starts`.
        held_out: share of the documents that is not trained on.
        gradient_accumulation_steps: micro-batches of a step.

    Attributes:
        packed: as `packing`.

    Raises:
        DataError: no documents, or nothing in them is learned within the context.
        SettingsError: a setting out of its range.

    Example:
        >>> numbers = [np.arange(10 * i, 10 * i + 4, dtype=np.uint32) for i in range(4)]
        >>> documents = [Document(ids, np.ones(4, bool)) for ids in numbers]
        >>> data = Dataset(documents, context_length=7, seed=1, held_out=0)
        >>> batch = data.batch(step=0, micro=0, batch_size=1)
        >>> batch.ids.tolist(), batch.starts.tolist()
        ([[20, 21, 22, 30, 31, 32, 0]], [[0, 0, 0, 3, 3, 3, 6]])
        >>> (batch.targets & 0xFFFF).tolist()
        [[21, 22, 23, 31, 32, 33, 65535]]
        >>> data.facts.rows, data.facts.trained_tokens
        (2, 12)
    """

    def __init__(self, documents: Sequence[Document], context_length: int, *, seed: int,
                 packing: bool = True, held_out: float = 0.1,
                 gradient_accumulation_steps: int = 1) -> None:
        check_range("seed", seed, 2**64)
        if context_length < 1 or gradient_accumulation_steps < 1:
            raise SettingsError("context_length and gradient_accumulation_steps start at 1.",
                                received=f"{context_length} and {gradient_accumulation_steps}")
        if not documents:
            raise DataError("There is no document to train on.", control="corpus")
        self.packed = packing
        self._context_length, self._seed = context_length, seed
        self._micro_batches = gradient_accumulation_steps
        self._documents, held, self._numbers = split(documents, held_out, context_length, seed)
        training, validation = cut(self._documents, context_length), cut(held, context_length)
        if not training.pieces:
            raise DataError("Nothing of this data would be learned.", control="context_length",
                            expected=f"an answer within the first {context_length} tokens",
                            remedy="Choose a larger context length, or other data.")
        self._rows = self._arrange(self._documents, training.pieces)
        self._held = self._arrange(held, validation.pieces)
        self._orders: dict[int, NDArray[np.int64]] = {}
        self.facts = DataFacts(
            len(documents), sum(len(one.ids) for one in documents), int(self._rows.trained.sum()),
            training.truncated_documents + validation.truncated_documents,
            training.truncated_tokens + validation.truncated_tokens, len(self._rows), len(held))

    def batch(self, step: int, micro: int, batch_size: int) -> Batch:
        """The rows of one micro-batch.

        Args:
            step: optimiser step, from 0.
            micro: from 0 to `gradient_accumulation_steps` - 1.
            batch_size: B.

        Raises:
            SettingsError: a micro-batch that a step does not have.
        """
        if not 0 <= micro < self._micro_batches:
            raise SettingsError("This data was not set up for so many micro-batches.",
                                expected=f"gradient_accumulation_steps={self._micro_batches}",
                                received=f"micro-batch {micro}")
        return self._rows.take(self._chosen((step * self._micro_batches + micro) * batch_size,
                                            batch_size))

    def trained_in(self, step: int, micro_batches: int, batch_size: int) -> int:
        """Targets that count in one optimiser step; at least one for each row.

        Raises:
            SettingsError: a number of micro-batches that this data was not set up for.
        """
        if micro_batches != self._micro_batches:
            raise SettingsError("This data was set up for another number of micro-batches.",
                                expected=str(self._micro_batches), received=str(micro_batches))
        rows = micro_batches * batch_size
        return int(self._rows.trained[self._chosen(step * rows, rows)].sum())

    def validation(self, batch_size: int) -> list[Batch]:
        """All rows held out, the last batch filled up with padding; empty if nothing is."""
        rows = np.arange(-(-len(self._held) // batch_size) * batch_size)
        rows[len(self._held):] = -1
        return [self._held.take(chosen) for chosen in rows.reshape(-1, batch_size)]

    def preview(self, rows: int) -> list[list[Shown]]:
        """The first rows of a run, token by token; padding is not shown.

        Raises:
            DataError: a document does not know its tokenizer.
        """
        return [show(self._documents, self._rows.pieces[row], self._numbers)
                for row in self._order(0)[:rows].tolist()]

    def _arrange(self, documents: Sequence[Document], pieces: Sequence[Piece]) -> Rows:
        rows = [[piece] for piece in pieces]
        if self.packed:
            lengths = np.array([piece.count for piece in pieces], np.int64)
            rows = [[pieces[number] for number in row]
                    for row in pack(lengths, self._context_length)]
        return Rows(documents, rows, self._context_length)

    def _chosen(self, first: int, count: int) -> NDArray[np.int64]:
        """Rows `first` to `first + count - 1` of a run, which may reach over several epochs."""
        epochs, places = np.divmod(np.arange(first, first + count), len(self._rows))
        chosen = np.empty(count, np.int64)
        for epoch in np.unique(epochs).tolist():
            here = epochs == epoch
            chosen[here] = self._order(epoch)[places[here]]
        return chosen

    def _order(self, epoch: int) -> NDArray[np.int64]:
        if epoch not in self._orders:
            self._orders = {known: order for known, order in self._orders.items()
                            if known == epoch - 1}
            self._orders[epoch] = permutation(len(self._rows), self._seed, ROWS_STREAM, epoch)
        return self._orders[epoch]
