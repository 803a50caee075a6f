"""Tokenizers and chat templates in the tab, through `web/text/`: Hugging Face's JavaScript."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyodide.ffi import JsException, to_js

from tabgrad.errors import CheckpointError
from tabgrad.platform.browser_seam import seam

REASON_LENGTH = 200
EXACT_INTEGERS = 2**53 - 1
"""The largest integer that JavaScript tells from its neighbours."""


@contextmanager
def checkpoint_errors(message: str) -> Iterator[None]:
    """Turns what JavaScript throws into a `CheckpointError` that gives its reason."""
    try:
        yield
    except JsException as error:
        raise CheckpointError(message, received=error.message[:REASON_LENGTH]) from error


class BrowserTokenizer:
    """A tokenizer.json, read by Hugging Face's JavaScript library.

    Args:
        opened: the TabTokenizer of `web/text/tokenizer.js`.

    Attributes:
        vocab_size: entries, special tokens included.
        decoder: how tokens become text, as the file describes it.
        special_ids: ids of the tokens that are no text.
    """

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._tokens: dict[int, str | None] = {}
        self.vocab_size = int(opened.vocabSize)
        self.decoder: dict[str, Any] | None = json.loads(opened.decoder)
        self.special_ids: frozenset[int] = frozenset(json.loads(opened.specialIds))

    @classmethod
    async def open(cls, data: bytes) -> BrowserTokenizer:
        """Reads a file's bytes.

        Raises:
            CheckpointError: not a tokenizer.json, or of a kind that the library cannot do.
        """
        with checkpoint_errors("tokenizer.json cannot be read."):
            return cls(await (await seam()).openTokenizer(to_js(data)))

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        """Ids of a text."""
        ids: list[int] = json.loads(self._opened.encode(text, add_special_tokens))
        return ids

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None where there is none."""
        found = self._opened.tokenToId(token)
        return None if found is None else int(found)

    def id_to_token(self, identity: int) -> str | None:
        """The token of an id, as the vocabulary writes it; None where there is none."""
        if identity not in self._tokens:  # each crosses from JavaScript once
            self._tokens[identity] = self._opened.idToToken(identity)
        return self._tokens[identity]


class BrowserTemplate:
    """A Jinja template.

    Args:
        opened: the TabTemplate of `web/text/template.js`.
    """

    def __init__(self, opened: Any) -> None:
        self._opened = opened

    @classmethod
    async def open(cls, source: str) -> BrowserTemplate:
        """Reads a template.

        Raises:
            CheckpointError: it is no Jinja template.
        """
        with checkpoint_errors("The chat template cannot be read."):
            return cls(await (await seam()).openTemplate(source))

    def render(self, variables: Mapping[str, Any]) -> str:
        """The text for these variables.

        Raises:
            CheckpointError: the template refuses them.
        """
        with checkpoint_errors("The chat template does not accept this conversation."):
            return str(self._opened.render(json.dumps(_sent(variables))))


def _sent(value: Any) -> Any:
    """A value for `web/text/template.js`.

    JavaScript would sort an object's keys that are numbers, and make 1.0 a 1.

    Raises:
        CheckpointError: an integer that JavaScript cannot hold.
    """
    if isinstance(value, Mapping):
        return {"table": [[str(name), _sent(one)] for name, one in value.items()]}
    if isinstance(value, list | tuple):
        return {"list": [_sent(one) for one in value]}
    if isinstance(value, float):
        return {"float": value}
    if isinstance(value, int) and abs(value) > EXACT_INTEGERS:
        raise CheckpointError("This conversation has a number that is too large here.",
                              received=str(value)[:REASON_LENGTH],
                              remedy="Write it as text, in quotes.")
    return value
