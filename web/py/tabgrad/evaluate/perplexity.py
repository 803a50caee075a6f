"""Loss, perplexity and bits per byte of a text, in windows that overlap."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tabgrad.errors import DataError, SettingsError
from tabgrad.evaluate.progress import Tell, silent
from tabgrad.evaluate.scorer import Row, Scorer


@dataclass(frozen=True)
class TextScore:
    """How well a model predicts a text.

    Attributes:
        loss: mean of -log p over the scored tokens, in nats; comparable for one tokenizer only.
        perplexity: e^loss.
        bits_per_byte: -log2 p of all scored tokens, over the bytes that they are; comparable
            between models of any tokenizer.
        tokens: scored, each once.
        bytes: of the text that they are.
        unscored_bytes: at the start of the text, where nothing stands before the first token.
        context_length: T, the most tokens that a prediction looks at.
        overlap: tokens that a window has in common with the one before, as context only.
        windows: how many.
    """

    loss: float
    perplexity: float
    bits_per_byte: float
    tokens: int
    bytes: int
    unscored_bytes: int
    context_length: int
    overlap: int
    windows: int


async def perplexity(scorer: Scorer, text: str, *, overlap: int | None = None,
                     tell: Tell = silent) -> TextScore:
    """Scores every token of a text once, after at least `overlap` tokens where it has them.

        loss = -1/n sum_i log p(id_i | ids before it in its window)

    Window k reads T tokens from k (T - overlap) on; the targets that the window before has
    scored do not count again.

    Args:
        scorer: its context length is T.
        text: held-out text.
        overlap: tokens of context that a window repeats, 0 to T - 1; half the context if None.
        tell: called before each batch.

    Raises:
        SettingsError: an overlap out of its range.
        DataError: a text with fewer than two tokens.

    Example:
        score = await perplexity(Scorer(lm.decoder, lm.tokenizer, 512), text)
        print(score.bits_per_byte)
    """
    length = scorer.context_length
    overlap = length // 2 if overlap is None else overlap
    if not 0 <= overlap < length:
        raise SettingsError("The overlap is out of range.", control="overlap",
                            expected=f"0 to {length - 1}", received=str(overlap))
    ids = scorer.reading.ids(text)
    first, skipped = _first_scored(scorer, ids, text)
    rows = windows(ids, first, length, overlap)
    found = await scorer.rows(rows, tell)
    total = math.fsum(loss for losses, _ in found for loss in losses.tolist())
    tokens, size = len(ids) - first, len(text.encode()) - skipped
    loss = total / tokens
    return TextScore(loss, _exp(loss), total / math.log(2) / size, tokens, size, skipped, length,
                     overlap, len(rows))


def windows(ids: list[int], first: int, length: int, overlap: int) -> list[Row]:
    """Rows of up to `length` + 1 ids; each id from `first` on is a scored target exactly once.

    Example:
        >>> [(list(row.ids), row.first) for row in windows([5, 6, 7, 8, 9], 1, 3, 1)]
        [([5, 6, 7, 8], 1), ([7, 8, 9], 2)]
    """
    rows, start, scored = [], 0, first
    while scored < len(ids):
        end = min(start + length + 1, len(ids))
        rows.append(Row(ids[start:end], scored - start))
        scored = end
        start += length - overlap
    return rows


def _first_scored(scorer: Scorer, ids: list[int], text: str) -> tuple[int, int]:
    """The first id that is scored, and the bytes before it.

    Ids that the tokenizer itself puts in front are context. Without any the first token has
    nothing to be predicted from; where it ends inside a character, the next ones go with it.
    """
    if scorer.reading.front:
        first, before = len(scorer.reading.front), ""
    else:
        first, before = 1, ""
        while first < len(ids):
            before = scorer.reading.tokenizer.decode(ids[:first])
            if text.startswith(before):
                break
            first += 1
    if first >= len(ids):
        raise DataError("The text is too short to be scored.", expected="two tokens or more",
                        received=f"{len(ids)}", control="corpus")
    return first, len(before.encode())


def _exp(loss: float) -> float:
    try:
        return math.exp(loss)
    except OverflowError:
        return math.inf
