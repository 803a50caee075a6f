"""Scorer: how likely a model finds given texts, in batches of few plans.

Rows are padded on the right. No position looks at a later one, in attention as in the scans of
DeltaNet, so padding changes nothing that is scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad import platform
from tabgrad.errors import DataError, SettingsError
from tabgrad.evaluate.forward import Forward, bucket_lengths
from tabgrad.evaluate.head import Head
from tabgrad.evaluate.pairs import Pair, Reading
from tabgrad.evaluate.progress import Tell, silent
from tabgrad.gpu.device import use_device
from tabgrad.models.decoder import Decoder
from tabgrad.text.tokenizer import Tokenizer

SHORTEST_CONTEXT = 2


@dataclass(frozen=True)
class Scored:
    """One continuation.

    Attributes:
        logprob: sum of the natural logarithms of its tokens' probabilities, each after all before.
        greedy: whether each of its tokens is the likeliest one at its place.
        tokens: how many.
        bytes: UTF-8 length of the continuation.
        dropped: tokens of the context's beginning that did not fit.
    """

    logprob: float
    greedy: bool
    tokens: int
    bytes: int
    dropped: int = 0


@dataclass(frozen=True)
class Row:
    """Ids of one forward pass, of which those from `first` on are scored; first >= 1."""

    ids: Sequence[int]
    first: int


class Scorer:
    """Log-likelihoods by one decoder.

    Each batch is one replay of a plan of (B, T) ids up to the hidden states, then replays of a
    second plan that takes only the rows that are scored through the head: logits of a large
    vocabulary never exist for all positions at once.

    Args:
        decoder: whose weights are only read.
        tokenizer: how it reads.
        context_length: T, most positions of a row.

    Raises:
        SettingsError: a context length that the decoder does not have.
    """

    def __init__(self, decoder: Decoder, tokenizer: Tokenizer, context_length: int) -> None:
        longest = _longest(decoder)
        if not SHORTEST_CONTEXT <= context_length <= longest:
            raise SettingsError("The context length is out of range.", control="context_length",
                                expected=f"{SHORTEST_CONTEXT} to {longest}",
                                received=str(context_length))
        self.decoder = decoder
        self.reading = Reading(tokenizer)
        self.context_length = context_length
        use_device(decoder.device)
        self._forward = Forward(decoder, context_length)
        self._head = Head(decoder, self._forward.hidden)

    async def loglikelihood(self, pairs: Sequence[tuple[str, str]], tell: Tell = silent, *,
                            rendered: bool = False) -> list[Scored]:
        """How likely each continuation is after its context.

        A context that does not fit loses its beginning.

        Args:
            pairs: (context, continuation).
            tell: called before each batch.
            rendered: whether the contexts are conversations that a chat template has made.

        Raises:
            DataError: an empty continuation, or one that is longer than the context length.
        """
        read = [self._fit(self.reading.pair(*pair, rendered=rendered)) for pair in pairs]
        found = await self.rows([row for row, _, _ in read], tell)
        return [Scored(float(-losses.sum(dtype=np.float64)), bool(hits.all()), len(losses), size,
                       dropped)
                for (losses, hits), (_, size, dropped) in zip(found, read, strict=True)]

    async def compile(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Makes the plans that these pairs need, so that clocks see no compiler."""
        use_device(self.decoder.device)
        rows = [self._fit(self.reading.pair(*pair))[0] for pair in pairs]
        for length in {length for length, _ in self._batches(rows)}:
            await self._forward.compile(length)
        await self._head.compile()

    async def rows(self, rows: Sequence[Row], tell: Tell = silent,
                   ) -> list[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
        """Losses of the scored ids of each row, and whether each is the likeliest there.

        Args:
            rows: of at most context_length + 1 ids: the last one is only a target.
            tell: called before each batch.
        """
        found: dict[int, tuple[NDArray[np.float32], NDArray[np.bool_]]] = {}
        use_device(self.decoder.device)
        batches = self._batches(rows)
        for number, (length, members) in enumerate(batches):
            tell("Scoring", number, len(batches))
            await self._forward.run(length, [rows[one].ids[:-1] for one in members])
            picks, targets = _picks([rows[one] for one in members], length)
            losses, best = await self._head.run(picks, targets)
            start = 0
            for one in members:
                end = start + len(rows[one].ids) - rows[one].first
                found[one] = losses[start:end], best[start:end] == targets[start:end]
                start = end
            # Natively nothing above has let the event loop run.
            await platform.current().pause()
        return [found[number] for number in range(len(rows))]

    def close(self) -> None:
        """Lets the plans go; buffers follow them."""
        self._forward.close()
        self._head.close()

    def _fit(self, pair: Pair) -> tuple[Row, int, int]:
        """A pair as a row that fits, its bytes, and how many ids were dropped."""
        room = self.context_length + 1
        if pair.tokens >= room:
            raise DataError("A continuation is longer than the context length.",
                            expected=f"at most {room - 1} tokens", received=f"{pair.tokens} tokens",
                            remedy="Choose a larger context length.", control="context_length")
        dropped = max(len(pair.ids) - room, 0)
        return Row(pair.ids[dropped:], pair.first - dropped), pair.bytes, dropped

    def _batches(self, rows: Sequence[Row]) -> list[tuple[int, list[int]]]:
        """(T, numbers of rows) of each batch; rows of like length together, order kept in each."""
        lengths = bucket_lengths(self.decoder.device.info, self.context_length)
        groups: dict[int, list[int]] = {}
        for number, row in enumerate(rows):
            wanted = len(row.ids) - 1
            groups.setdefault(next(one for one in lengths if one >= wanted), []).append(number)
        batches = []
        for length, members in sorted(groups.items()):
            size = self._forward.batch_size(length)
            batches += [(length, members[start:start + size])
                        for start in range(0, len(members), size)]
        return batches


def _picks(rows: Sequence[Row], length: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Positions of a (B, T) batch whose next id is scored, and those ids."""
    picks = [number * length + position for number, row in enumerate(rows)
             for position in range(row.first - 1, len(row.ids) - 1)]
    targets = [one for row in rows for one in row.ids[row.first:]]
    return np.array(picks, np.uint32), np.array(targets, np.uint32)


def _longest(decoder: Decoder) -> int:
    """Most positions; where frequencies follow the length, those for which they do not yet."""
    if decoder.longest is not None:
        return decoder.longest
    return min(one.max_position_embeddings for one in decoder.tables.parameters.values())
