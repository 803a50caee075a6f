"""Where a text is cut in two: which ids are its context, and which are scored."""

from __future__ import annotations

from dataclasses import dataclass

from tabgrad.errors import DataError
from tabgrad.text.tokenizer import Tokenizer

PROBE = "a"


@dataclass(frozen=True)
class Pair:
    """A context and what follows it, as ids.

    Args:
        ids: of both together.
        first: the index of the first id that is scored; at least 1.
        bytes: UTF-8 length of the continuation as it was given.
    """

    ids: tuple[int, ...]
    first: int
    bytes: int

    @property
    def tokens(self) -> int:
        """How many ids are scored."""
        return len(self.ids) - self.first


class Reading:
    """How a checkpoint's tokenizer reads a text that is scored.

    Args:
        tokenizer: whose ids.

    Attributes:
        front: ids that the tokenizer itself puts before every text; often none, or one.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.front = _front(tokenizer)

    def ids(self, text: str, *, rendered: bool = False) -> list[int]:
        """Ids of a text, without what the tokenizer would put behind it.

        Args:
            text: what is read.
            rendered: whether a chat template has made it: then it has its first token already.
        """
        front = [] if rendered else self.front
        return front + self.tokenizer.encode(text, add_special_tokens=False)

    def pair(self, context: str, continuation: str, *, rendered: bool = False) -> Pair:
        """Both texts as the ids of one, cut where reading the context alone parts from it.

        A tokenizer reads the end of a context and the start of what follows together, so the two
        are never encoded apart and joined: those ids may be ones that the model has never seen in
        a row. White space at the context's end moves to the continuation, since most vocabularies
        have it at the start of words. Then the ids of all and those of the context alone are
        compared; the longest beginning that they share is the context, and everything after it
        is scored. Where no token lies over the seam this is the rule of lm-evaluation-harness;
        where one does, that rule drops it and this one scores it.

        Args:
            context: may be empty: then the token that begins a text stands before it.
            continuation: at least one character.
            rendered: whether a chat template has made the context: then its white space stays.

        Raises:
            DataError: nothing to score, or nothing that could stand before it.

        Source: Gao et al., "A framework for few-shot language model evaluation", 2021.
        """
        if not continuation:
            raise DataError("There is nothing to score.", expected="a continuation with text in it",
                            received="an empty one")
        whole = self.ids(context + continuation, rendered=rendered)
        alone = self.ids(context if rendered else context.rstrip(), rendered=rendered)
        first = 0
        while first < min(len(whole), len(alone)) and whole[first] == alone[first]:
            first += 1
        size = len(continuation.encode())
        if first > 0:
            return Pair(tuple(whole), first, size)
        return Pair((self._begin(), *whole), 1, size)

    def _begin(self) -> int:
        """The id that stands for "nothing before": the one that begins texts, else ends them."""
        known = [self.tokenizer.token_to_id(text) for text in (self.tokenizer.bos,) if text]
        found = next((one for one in known if one is not None),
                     min(self.tokenizer.stop_ids, default=None))
        if found is None:
            raise DataError("The first token of a text cannot be scored: this model has no token "
                            "that begins a text.", remedy="Give every item a context.")
        return found


def _front(tokenizer: Tokenizer) -> list[int]:
    """What the tokenizer puts before a text."""
    plain, full = tokenizer.encode(PROBE, add_special_tokens=False), tokenizer.encode(PROBE)
    starts = range(len(full) - len(plain) + 1)
    start = next((i for i in starts if full[i:i + len(plain)] == plain), 0)
    return full[:start]
