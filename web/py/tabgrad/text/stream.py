"""Bytes to text as they arrive, never splitting a character."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Protocol


class Decodes(Protocol):
    """What turns ids into text."""

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """Text of ids."""


class TextStream:
    r"""Decodes UTF-8 bytes that arrive in pieces.

    The bytes of an unfinished character are held back until the rest arrives. A model may also
    write bytes that are no UTF-8 at all: each becomes U+FFFD, the replacement character.

    Example:
        >>> stream = TextStream()
        >>> [stream.feed(b"caf\xc3"), stream.feed(b"\xa9"), stream.finish()]
        ['caf', 'é', '']
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, data: bytes) -> str:
        """The characters that `data` completes."""
        return self._decoder.decode(data)

    def finish(self) -> str:
        """What is left at the end: replacement characters for an unfinished character."""
        return self._decoder.decode(b"", final=True)


class Detokenizer:
    """Ids to text as they arrive, never splitting a character.

    A token's text depends on those before it, so each piece is the difference between two short
    texts: with the new tokens, and without.

    Args:
        tokenizer: whose ids.
    """

    def __init__(self, tokenizer: Decodes) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []
        self._shown = 0  # tokens whose text was given out; they stay as context for one piece

    def feed(self, ids: Sequence[int]) -> str:
        """The characters that these ids complete."""
        self._ids += ids
        before, text = self._texts()
        if len(text) <= len(before) or text.endswith("\ufffd"):
            return ""
        self._ids, self._shown = self._ids[self._shown:], len(self._ids) - self._shown
        return text[len(before):]

    def finish(self) -> str:
        """What is left at the end: replacement characters for an unfinished character."""
        before, text = self._texts()
        self._ids, self._shown = [], 0
        return text[len(before):]

    def _texts(self) -> tuple[str, str]:
        decode = self._tokenizer.decode
        return (decode(self._ids[:self._shown], skip_special_tokens=True),
                decode(self._ids, skip_special_tokens=True))
