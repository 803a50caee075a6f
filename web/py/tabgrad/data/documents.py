"""What a file of training data holds, before and after its text became ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import DataError
from tabgrad.text.decoding import TokenTexts

Kind: TypeAlias = Literal["text", "texts", "chats"]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Text:
    """A text that is learned from its first word to its last.

    Args:
        line: where it begins in the file, from 1.
        text: of it.
    """

    line: int
    text: str = field(repr=False)


@dataclass(frozen=True)
class Chat:
    """A conversation, of which the assistant's part is learned.

    Args:
        line: where it stands in the file, from 1.
        messages: each with "role" and "content", as chat templates take them.
        tools: descriptions of tools, or None.
    """

    line: int
    messages: Sequence[Mapping[str, Any]] = field(repr=False)
    tools: Sequence[Mapping[str, Any]] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be used.

    Args:
        line: its number, from 1.
        reason: in a few words.
    """

    line: int
    reason: str


@dataclass(frozen=True)
class Parsed:
    """A file of training data.

    Args:
        name: of the file.
        kind: "text", "texts" (JSONL with "text") or "chats" (JSONL with "messages").
        documents: `Text`s of the first two kinds, `Chat`s of the third.
        bad_lines: the first of those that cannot be used.
        bad_count: how many cannot be used.
    """

    name: str
    kind: Kind
    documents: tuple[Text | Chat, ...] = field(repr=False)
    bad_lines: tuple[BadLine, ...] = ()
    bad_count: int = 0


@dataclass(frozen=True)
class Document:
    """A text or conversation in ids.

    Args:
        ids: (n,) uint32.
        trained: (n,) bool; trained[i] says that id i is learned. The first one never is: nothing
            stands before it.
        whole: whether it must be seen from its beginning. Such a one is cut off where the context
            ends; any other goes on in the next window.
        tokenizer: whose ids; needed to show them as text.

    Raises:
        DataError: the two have different lengths.
    """

    ids: NDArray[np.uint32] = field(repr=False)
    trained: Mask = field(repr=False)
    whole: bool = False
    tokenizer: TokenTexts | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuses a mask of another length."""
        if self.ids.shape != self.trained.shape or self.ids.ndim != 1:
            raise DataError("A document has one mark for each id.", expected=str(self.ids.shape),
                            received=str(self.trained.shape))
