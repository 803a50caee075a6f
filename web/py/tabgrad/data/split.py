"""What is held out: documents, or the end of a single text, that are never trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabgrad.data.documents import Document
from tabgrad.errors import SettingsError

ROWS_STREAM, HELD_OUT_STREAM = 2, 3  # 1 is `text.batches`
"""Streams of random numbers of one seed, so that none repeats another."""


def permutation(count: int, seed: int, stream: int, number: int = 0) -> NDArray[np.int64]:
    """An order of 0 to count - 1, all equally likely: random keys from Philox, sorted.

    Args:
        count: how many.
        seed: key of Philox; 0 <= seed < 2**64.
        stream, number: its counter.

    Example:
        >>> sorted(permutation(5, seed=1, stream=2).tolist())
        [0, 1, 2, 3, 4]
    """
    bits = np.random.Philox(key=seed, counter=[0, stream, 0, number])
    return np.argsort(bits.random_raw(count), kind="stable")


def split(documents: Sequence[Document], held_out: float, context_length: int,
          seed: int) -> tuple[list[Document], list[Document], list[int]]:
    """Divides documents into those that are trained on and those that are held out.

    Of several documents a share is drawn, one at least, and one at least stays. A single text holds
    out its end, a window at least, and nothing where it has not two windows; a single conversation
    holds out nothing.

    Args:
        documents: all.
        held_out: share, 0 <= held_out < 1; 0 holds out nothing.
        context_length: T.
        seed: of the draw.

    Returns:
        Training documents, documents held out, and the place of each training document in the list.

    Raises:
        SettingsError: the share is out of its range.
    """
    if not 0 <= held_out < 1:
        raise SettingsError("held_out is out of range.", expected="0, or a share below 1",
                            received=str(held_out), control="held_out")
    count = len(documents)
    if held_out == 0 or (count == 1 and documents[0].whole):
        return list(documents), [], list(range(count))
    if count == 1:
        first, second = _by_position(documents[0], held_out, context_length + 1)
        return [first], [second] if len(second.ids) else [], [0]
    drawn = permutation(count, seed, HELD_OUT_STREAM)
    held = set(drawn[:min(max(1, round(count * held_out)), count - 1)].tolist())
    kept = [number for number in range(count) if number not in held]
    return ([documents[number] for number in kept],
            [documents[number] for number in sorted(held)], kept)


def _by_position(text: Document, held_out: float, window: int) -> tuple[Document, Document]:
    length = len(text.ids)
    held = max(int(length * held_out), window) if length >= 2 * window else 0
    place = length - held
    return (Document(text.ids[:place], text.trained[:place], tokenizer=text.tokenizer),
            Document(text.ids[place:], text.trained[place:], tokenizer=text.tokenizer))
