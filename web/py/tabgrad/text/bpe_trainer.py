"""Byte-pair encoding: learns a vocabulary from a text, as PyPI's `tokenizers` learns it.

A text is cut into words (`text/split.py`). Every word is its bytes at first. Then, again and again,
the pair of neighbours that is most frequent in all words becomes one token, until the vocabulary is
as large as wished. Counting anew each time would take hours: a merge changes few words, so each
pair knows its words, and a heap knows the most frequent pair.

Source: Sennrich et al., "Neural machine translation of rare words with subword units", 2016;
Radford et al., "Language models are unsupervised multitask learners", 2019 (bytes).
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from tabgrad import platform
from tabgrad.errors import SettingsError
from tabgrad.text.decoding import BYTE_OF, CHARACTER_OF
from tabgrad.text.split import gpt2_pattern, slices

BYTES = 256
LARGEST = 1 << 20  # symbols of a word are characters of a Python string
SLICE_MS = 20.0    # of work, between two looks at the event loop

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class BpeSettings:
    """What `tokenizers`' BpeTrainer is told, under its names.

    Its initial alphabet is always that of all 256 bytes, so that any text can be read.

    Args:
        vocab_size: entries wished for: special tokens, bytes and merges. A short text gives fewer.
        min_frequency: a pair that is rarer is not merged.
        special_tokens: take the first ids, in this order.

    Raises:
        SettingsError: a size out of its range.
    """

    vocab_size: int = 4096
    min_frequency: int = 2
    special_tokens: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        least = BYTES + len(self.special_tokens)
        if not least <= self.vocab_size <= LARGEST:
            raise SettingsError("vocab_size is out of range.", control="vocab_size",
                                expected=f"{least:,} to {LARGEST:,}",
                                received=repr(self.vocab_size))
        if self.min_frequency < 0:
            raise SettingsError("min_frequency is out of range.", expected="0 or more",
                                received=repr(self.min_frequency), control="min_frequency")


@dataclass(frozen=True)
class Bpe:
    """A vocabulary and its merges, as they stand in tokenizer.json.

    Args:
        vocab: token -> id.
        merges: pairs of tokens, first things first.
        special_tokens: those that are no text.
    """

    vocab: dict[str, int]
    merges: list[tuple[str, str]]
    special_tokens: tuple[str, ...] = ()


async def train_bpe(text: str, settings: BpeSettings = BpeSettings(), *,
                    progress: Progress | None = None) -> Bpe:
    """Learns a byte-level vocabulary: the same as `tokenizers`' from the same text.

    That is `Tokenizer(BPE())` with the pre-tokenizer `ByteLevel(add_prefix_space=False)` and
    `train_from_iterator([text], BpeTrainer(..., initial_alphabet=ByteLevel.alphabet()))`. The event
    loop runs every few milliseconds, so the task can be cancelled.

    Args:
        text: the whole of it; special tokens in it are text.
        settings: see `BpeSettings`.
        progress: called with (merges done, merges wished for); what it raises ends the work.

    Example:
        >>> settings = BpeSettings(vocab_size=258)
        >>> bpe = platform.current().run_sync(train_bpe("low lower lowest", settings))
        >>> bpe.merges, bpe.vocab["low"]
        ([('l', 'o'), ('lo', 'w')], 257)
    """
    here = platform.current()
    merges = _Merges(await count_words(text), settings)
    total = settings.vocab_size - len(merges.tokens)
    first, since = len(merges.tokens), here.now_ms()
    while merges.merge():
        if here.now_ms() - since > SLICE_MS:
            if progress is not None:
                progress(len(merges.tokens) - first, total)
            await here.pause()
            since = here.now_ms()
    if progress is not None:
        progress(total, total)
    return merges.result()


async def count_words(text: str) -> dict[str, int]:
    """How often each word of GPT-2's pattern stands in a text, in the order of their first places.

    Example:
        >>> platform.current().run_sync(count_words("so so, so"))
        {'so': 1, ' so': 2, ',': 1}
    """
    counts: Counter[str] = Counter()
    for part in slices(text):
        counts.update(gpt2_pattern().findall(part))
        await platform.current().pause()
    return dict(counts)


class _Merges:
    """The words at work.

    A word is a string whose characters are its symbols: chr(id). To look for a pair is then to look
    for two characters, which Python's strings do fast, and pairs are in order as strings as the
    library has them in order as ids.

    Args:
        counts: word -> how often it stands in the text.
        settings: see `BpeSettings`.

    Attributes:
        tokens: of each id.
    """

    def __init__(self, counts: dict[str, int], settings: BpeSettings) -> None:
        self._settings = settings
        self.tokens = list(dict.fromkeys((*settings.special_tokens, *sorted(BYTE_OF))))
        self._ids = {token: identity for identity, token in enumerate(self.tokens)}
        self._merged: dict[str, None] = {}  # pairs in order; a repeated one stands where it is last
        symbol_of = {byte: self._ids[character] for byte, character in CHARACTER_OF.items()}
        self._words = [word.encode("utf-8").decode("latin-1").translate(symbol_of)
                       for word in counts]
        self._counts = list(counts.values())
        self._pairs: defaultdict[str, int] = defaultdict(int)
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for number, (word, count) in enumerate(zip(self._words, self._counts, strict=True)):
            for left, right in zip(word, word[1:], strict=False):
                self._pairs[left + right] += count
                self._places[left + right].append(number)
        self._heap: list[tuple[int, str, list[int]]] = []
        self._queue()

    def merge(self) -> bool:
        """Merges one pair in all its words; False when nothing is left to merge."""
        if len(self.tokens) >= self._settings.vocab_size:
            return False
        while self._heap:
            # A pair waits with the count that it had when it was queued: counts have since
            # changed, and most of them fell.
            negative, pair, places = self._heap[0]
            count = self._pairs[pair]
            if -negative != count:
                heapq.heapreplace(self._heap, (-count, pair, places))
                continue
            if count < max(1, self._settings.min_frequency):
                return False
            heapq.heappop(self._heap)
            self._replace(pair, chr(self._token(pair)), places)
            self._queue()
            return True
        return False

    def result(self) -> Bpe:
        """What was learned."""
        merges = [(self.tokens[ord(pair[0])], self.tokens[ord(pair[1])]) for pair in self._merged]
        return Bpe(dict(self._ids), merges, self._settings.special_tokens)

    def _token(self, pair: str) -> int:
        """The id of a pair's token: a new one, unless other parts have made the same text."""
        self._merged.pop(pair, None)
        self._merged[pair] = None
        token = self.tokens[ord(pair[0])] + self.tokens[ord(pair[1])]
        if token not in self._ids:
            self._ids[token] = len(self.tokens)
            self.tokens.append(token)
        return self._ids[token]

    def _replace(self, pair: str, new: str, places: list[int]) -> None:
        """Writes the new symbol into the words, and counts the pairs that went and came.

        The count of the pair itself is left as it is, as the library leaves it.
        """
        words, counts, pairs, found = self._words, self._counts, self._pairs, self._places
        first, second = pair[0], pair[1]
        for number in places:
            word = words[number]
            at = word.find(pair)
            if at < 0:
                continue
            count = counts[number]
            while at >= 0:
                end = at + 2
                if at:
                    before = word[at - 1]
                    pairs[before + first] -= count
                    pairs[before + new] += count
                    found[before + new].append(number)
                if end < len(word):
                    after = word[end]
                    pairs[second + after] -= count
                    pairs[new + after] += count
                    found[new + after].append(number)
                word = word[:at] + new + word[end:]
                at = word.find(pair, at + 1)
            words[number] = word

    def _queue(self) -> None:
        """Pairs that are new, or in new words, wait for their turn."""
        for pair, places in self._places.items():
            count = self._pairs[pair]
            if count > 0:
                heapq.heappush(self._heap, (-count, pair, places))
        self._places.clear()
