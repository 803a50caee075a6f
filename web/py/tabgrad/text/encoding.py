"""A whole text as the ids of its tokens, word after word, so that it can be waited for."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tabgrad import platform
from tabgrad.text.split import gpt2_pattern, slices

LARGEST = 1 << 16  # ids are kept in 16 bits
SLICE_MS = 20.0
PART = 1 << 12   # characters between two looks at the clock


class Encoder(Protocol):
    """What is needed of a byte-level tokenizer."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Ids of a text."""


async def encode_words(tokenizer: Encoder, text: str, special: str, *,
                       progress: Callable[[int, int], None] | None = None) -> NDArray[np.uint16]:
    """The ids of a long text; each different word is asked for once.

    Args:
        tokenizer: byte-level BPE with GPT-2's pattern, as `bpe_trainer` learns it.
        text: any.
        special: the token that is no text; where it stands it is one id.
        progress: called with (characters read, of all); what it raises ends the work.

    Returns:
        (n,) what `tokenizer.encode(text, False)` gives, which works on the whole text at once.

    Example:
        >>> from tabgrad.text.tokenizer import ByteTokenizer, Tokenizer
        >>> tokenizer = Tokenizer(ByteTokenizer(), {}, {}, ())
        >>> platform.current().run_sync(encode_words(tokenizer, "so so", "<|>")).tolist()
        [115, 111, 32, 115, 111]
    """
    here = platform.current()
    ids, known = array("H"), {special: array("H", tokenizer.encode(special, False))}
    read, since = 0, here.now_ms()
    for piece in re.split(f"({re.escape(special)})", text):
        for part in [piece] if piece == special else slices(piece, PART):
            for word in [part] if piece == special else gpt2_pattern().findall(part):
                if word not in known:
                    known[word] = array("H", tokenizer.encode(word, False))
                ids.extend(known[word])
            read += len(part)
            if here.now_ms() - since > SLICE_MS:
                await here.pause()
                since = here.now_ms()
                if progress is not None:
                    progress(read, len(text))
    if progress is not None:
        progress(read, len(text))
    return np.frombuffer(ids, np.uint16)
