"""Bytes to text as they arrive, never splitting a character."""

from __future__ import annotations

import codecs


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
