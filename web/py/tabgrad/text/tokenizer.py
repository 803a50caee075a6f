"""Tokenizer: a checkpoint's text files, as one thing that turns text into ids and back."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tabgrad import platform
from tabgrad.errors import CheckpointError
from tabgrad.platform.protocol import PlatformTemplate, PlatformTokenizer

Read = Callable[[str], Awaitable[bytes | None]]
"""The bytes of a model's file by its name; None where it has none."""
Messages = Sequence[Mapping[str, Any]]

TOKENIZER, SETTINGS = "tokenizer.json", "tokenizer_config.json"
SPECIAL, TEMPLATE = "special_tokens_map.json", "chat_template.jinja"
SPECIAL_NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token",
                 "mask_token")


class ByteTokenizer:
    """A tokenizer whose tokens are the 256 bytes of UTF-8."""

    vocab_size = 256

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        """The bytes of a text."""
        return list(text.encode())

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """Text of bytes; what is no UTF-8 becomes U+FFFD."""
        return bytes(ids).decode("utf-8", "replace")

    def token_to_id(self, token: str) -> int | None:
        """The byte of a one-byte character."""
        data = token.encode()
        return data[0] if len(data) == 1 else None

    def id_to_token(self, identity: int) -> str | None:
        """A byte as a character of Latin-1."""
        return chr(identity) if 0 <= identity < 256 else None


class Tokenizer:
    """Text into ids and back, and conversations into text.

    Args:
        tokens: what reads tokenizer.json here.
        special: "bos_token" and the like -> its text.
        template: renders a conversation; None where the model has none.
        stop_ids: ids that end an answer.
    """

    def __init__(self, tokens: PlatformTokenizer, special: Mapping[str, str],
                 template: PlatformTemplate | None, stop_ids: Sequence[int]) -> None:
        self._tokens = tokens
        self._special = dict(special)
        self._template = template
        self.stop_ids = frozenset(stop_ids)

    @property
    def vocab_size(self) -> int:
        """Entries, special tokens included."""
        return self._tokens.vocab_size

    @property
    def has_template(self) -> bool:
        """Whether conversations can be rendered."""
        return self._template is not None

    @property
    def bos(self) -> str | None:
        """The token that begins a text, as text; None where there is none."""
        return self._special.get("bos_token")

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Ids of a text; with the special tokens that the model's texts begin with."""
        return self._tokens.encode(text, add_special_tokens)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """Text of ids."""
        return self._tokens.decode(ids, skip_special_tokens)

    def apply_chat_template(self, messages: Messages, tools: Sequence[Mapping[str, Any]] | None
                            = None, add_generation_prompt: bool = True, **extra: Any) -> str:
        """A conversation as the text that the model was trained on.

        Args:
            messages: each with "role" and "content".
            tools: descriptions of tools, for templates that show them.
            add_generation_prompt: whether the text ends where the assistant speaks.
            extra: further variables of the template.

        Raises:
            CheckpointError: the model has no template, or it refuses this conversation.
        """
        if self._template is None:
            raise CheckpointError("This model has no chat template: it goes on from a text.",
                                  remedy="Choose a model that was trained to converse.")
        return self._template.render({
            **self._special, "messages": list(messages), "tools": tools, "documents": None,
            "add_generation_prompt": add_generation_prompt, **extra})

    def encode_chat(self, messages: Messages, tools: Sequence[Mapping[str, Any]] | None = None,
                    add_generation_prompt: bool = True, **extra: Any) -> list[int]:
        """Ids of a conversation; the template has written its special tokens itself."""
        text = self.apply_chat_template(messages, tools, add_generation_prompt, **extra)
        return self._tokens.encode(text, False)


async def load_tokenizer(read: Read) -> Tokenizer:
    """The tokenizer of a model.

    Args:
        read: gives the bytes of one of its files, or None.

    Raises:
        CheckpointError: no tokenizer.json, or one that cannot be read.
    """
    config = await _json(read, "config.json")
    data = await read(TOKENIZER)
    if data is None and config.get("vocab_size") == 256:
        return Tokenizer(ByteTokenizer(), {}, None, ())
    if data is None:
        raise CheckpointError(f"This model has no {TOKENIZER}.",
                              remedy="Get it from the model's page and put it beside config.json.")
    tokens = await platform.current().tokenizer(data)
    settings = await _json(read, SETTINGS)
    special = {name: text for name, text in _special(await _json(read, SPECIAL), settings).items()}
    source = await _template_source(read, settings)
    template = None if source is None else await platform.current().chat_template(source)
    stops = _ids((await _json(read, "generation_config.json")).get("eos_token_id"))
    stops += _ids(config.get("eos_token_id"))
    eos = tokens.token_to_id(special.get("eos_token", ""))
    return Tokenizer(tokens, special, template, stops if eos is None else [*stops, eos])


async def has_chat_template(read: Read) -> bool:
    """Whether a model can converse."""
    return await _template_source(read, await _json(read, SETTINGS)) is not None


async def _json(read: Read, name: str) -> dict[str, Any]:
    data = await read(name)
    if data is None:
        return {}
    try:
        table = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{name} is not valid JSON.", received=str(error)[:200]) from error
    if not isinstance(table, dict):
        raise CheckpointError(f"{name} is not a JSON object.")
    return table


async def _template_source(read: Read, settings: Mapping[str, Any]) -> str | None:
    data = await read(TEMPLATE)
    if data is not None:
        return data.decode("utf-8")
    found = settings.get("chat_template")
    if isinstance(found, list):  # several by name
        named = {one.get("name"): one.get("template") for one in found if isinstance(one, dict)}
        found = named.get("default")
    return found if isinstance(found, str) else None


def _special(*tables: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for table in tables:
        for name in SPECIAL_NAMES:
            value = table.get(name)
            text = value.get("content") if isinstance(value, dict) else value
            if isinstance(text, str):
                found[name] = text
    return found


def _ids(value: Any) -> list[int]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, int) and not isinstance(one, bool)]
