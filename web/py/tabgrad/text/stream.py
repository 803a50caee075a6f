"""Bytes to text as they arrive, never splitting a character."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from tabgrad.text.decoding import Decoding, TokenTexts


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
    """Ids to text as they arrive, never half a character.

    All pieces together are the text of all ids, however the ids were cut into calls, and each
    id costs the same however long the text is.

    Args:
        tokenizer: whose ids.
        skip_special_tokens: whether tokens that are no text are left out.
    """

    def __init__(self, tokenizer: TokenTexts, skip_special_tokens: bool = True) -> None:
        self._tokenizer = tokenizer
        self._skipped = tokenizer.special_ids if skip_special_tokens else frozenset[int]()
        self._decoding = Decoding(tokenizer.decoder)

    def feed(self, ids: Sequence[int]) -> str:
        """The characters that these ids complete; an id without a token is no text."""
        tokens = (self._tokenizer.id_to_token(one) for one in ids if one not in self._skipped)
        return "".join(self._decoding.feed(token) for token in tokens if token is not None)

    def finish(self) -> str:
        """What is left at the end, such as U+FFFD for an unfinished character; then it is new."""
        text = self._decoding.finish()
        self._decoding = Decoding(self._tokenizer.decoder)
        return text
