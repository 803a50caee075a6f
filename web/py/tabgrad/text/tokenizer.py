"""Tokenizer: a checkpoint's text files, as one thing that turns text into ids and back."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tabgrad import platform
from tabgrad.errors import CheckpointError
from tabgrad.platform.protocol import PlatformTemplate, PlatformTokenizer
from tabgrad.text.decoding import BYTE_OF, CHARACTER_OF
from tabgrad.text.json_object import parse_json
from tabgrad.text.stream import Detokenizer

Read = Callable[[str], Awaitable[bytes | None]]
"""The bytes of a model's file by its name; None where it has none."""
Messages = Sequence[Mapping[str, Any]]

TOKENIZER, SETTINGS = "tokenizer.json", "tokenizer_config.json"
SPECIAL = "special_tokens_map.json"
TEMPLATE, TOOL_TEMPLATE = "chat_template.jinja", "additional_chat_templates/tool_use.jinja"
OLD_TEMPLATE = "chat_template.json"
REASONING = ("reasoning_content", "thinking", "reasoning")
SPECIAL_NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token",
                 "mask_token")


class ByteTokenizer:
    """A tokenizer whose tokens are the 256 bytes of UTF-8."""

    vocab_size = 256
    decoder: Mapping[str, Any] | None = {"type": "ByteLevel"}
    special_ids: frozenset[int] = frozenset()

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        """The bytes of a text."""
        return list(text.encode())

    def token_to_id(self, token: str) -> int | None:
        """The byte that a character stands for, as byte-level vocabularies write it."""
        return BYTE_OF.get(token)

    def id_to_token(self, identity: int) -> str | None:
        """The character that stands for a byte."""
        return CHARACTER_OF.get(identity)


class Tokenizer:
    """Text into ids and back, and conversations into text.

    Args:
        tokens: what reads tokenizer.json here.
        special: "bos_token" and the like -> its text.
        templates: name -> what renders a conversation; empty where the model cannot converse.
        stop_ids: ids that end an answer.

    Attributes:
        stop_ids: as above.
        special_ids: ids of the tokens that are no text.

    Raises:
        CheckpointError: the way from tokens to text is not known.

    Example:
        >>> tokenizer = Tokenizer(ByteTokenizer(), {}, {}, ())
        >>> tokenizer.encode("né"), tokenizer.decode([110, 195, 169])
        ([110, 195, 169], 'né')
    """

    def __init__(self, tokens: PlatformTokenizer, special: Mapping[str, str],
                 templates: Mapping[str, PlatformTemplate], stop_ids: Sequence[int]) -> None:
        self._tokens = tokens
        self._special = dict(special)
        self._templates = dict(templates)
        self.stop_ids = frozenset(stop_ids)
        named = (tokens.token_to_id(text) for text in special.values())
        self.special_ids = tokens.special_ids | {one for one in named if one is not None}
        Detokenizer(self)  # refuses an unknown decoder now, and not at the first answer

    @property
    def vocab_size(self) -> int:
        """Entries, special tokens included."""
        return self._tokens.vocab_size

    @property
    def has_template(self) -> bool:
        """Whether conversations can be rendered."""
        return bool(self._templates)

    @property
    def bos(self) -> str | None:
        """The token that begins a text, as text; None where there is none."""
        return self._special.get("bos_token")

    @property
    def eos_id(self) -> int | None:
        """The id that ends a text; None where there is none."""
        text = self._special.get("eos_token")
        return None if text is None else self._tokens.token_to_id(text)

    @property
    def decoder(self) -> Mapping[str, Any] | None:
        """How tokens become text, as tokenizer.json describes it."""
        return self._tokens.decoder

    def id_to_token(self, identity: int) -> str | None:
        """The token of an id, as the vocabulary writes it; None where there is none."""
        return self._tokens.id_to_token(identity)

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None where there is none."""
        return self._tokens.token_to_id(token)

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Ids of a text; with the special tokens that the model's texts begin with.

        Half a character of UTF-16, which JavaScript and JSON can hold, becomes U+FFFD.
        """
        if any("\ud800" <= character <= "\udfff" for character in text):
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self._tokens.encode(text, add_special_tokens)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """Text of ids."""
        texts = Detokenizer(self, skip_special_tokens)
        return texts.feed(ids) + texts.finish()

    def apply_chat_template(self, messages: Messages, tools: Sequence[Mapping[str, Any]] | None
                            = None, add_generation_prompt: bool = True, **extra: Any) -> str:
        """A conversation as the text that the model was trained on.

        Args:
            messages: each with "role" and "content"; fields that are None do not count.
            tools: descriptions of tools, for templates that show them.
            add_generation_prompt: whether the text ends where the assistant speaks.
            extra: further variables of the template.

        Raises:
            CheckpointError: the model has no template, or it refuses this conversation.
        """
        named = "tool_use" if tools is not None and "tool_use" in self._templates else "default"
        if named not in self._templates:
            raise CheckpointError("This model has no chat template: it goes on from a text.",
                                  remedy="Choose a model that was trained to converse.")
        variables = {**self._special, "messages": [_message(one) for one in messages],
                     "tools": tools, "documents": None,
                     "add_generation_prompt": add_generation_prompt, **extra}
        try:  # templates are others' programs: they see plain data, and copies of it
            plain = json.loads(json.dumps(variables, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise CheckpointError("A conversation is made of what JSON can hold.",
                                  received=str(error)[:200]) from error
        return self._templates[named].render(plain)

    def encode_chat(self, messages: Messages, tools: Sequence[Mapping[str, Any]] | None = None,
                    add_generation_prompt: bool = True, **extra: Any) -> list[int]:
        """Ids of a conversation; the template has written its special tokens itself."""
        text = self.apply_chat_template(messages, tools, add_generation_prompt, **extra)
        return self.encode(text, add_special_tokens=False)


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """As Transformers hands a message to a template: no None; reasoning under its names."""
    if not isinstance(message, Mapping):
        raise CheckpointError("A conversation is a list of messages.",
                              expected='{"role": "user", "content": "..."} for each',
                              received=repr(message)[:80])
    given = {name: value for name, value in message.items() if value is not None}
    reasoning = next((given[name] for name in REASONING if name in given), None)
    if reasoning is not None:
        given = {"thinking": reasoning, **given, "reasoning_content": reasoning}
    return given


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
        return Tokenizer(ByteTokenizer(), {}, {}, ())
    if data is None:
        raise CheckpointError(f"This model has no {TOKENIZER}.",
                              remedy="Get it from the model's page and put it beside config.json.")
    tokens = await platform.current().tokenizer(data)
    settings = await _json(read, SETTINGS)
    special = _special(await _json(read, SPECIAL), settings)
    templates = {name: await platform.current().chat_template(source)
                 for name, source in (await _template_sources(read, settings)).items()}
    generation = await _json(read, "generation_config.json")
    stops = [*_ids(generation.get("eos_token_id")), *_ids(config.get("eos_token_id"))]
    eos = tokens.token_to_id(special["eos_token"]) if "eos_token" in special else None
    return Tokenizer(tokens, special, templates, stops if eos is None else [*stops, eos])


async def has_chat_template(read: Read) -> bool:
    """Whether a model can converse."""
    return bool(await _template_sources(read, await _json(read, SETTINGS)))


async def _json(read: Read, name: str) -> dict[str, Any]:
    data = await read(name)
    return {} if data is None else parse_json(data, name)


async def _template_sources(read: Read, settings: Mapping[str, Any]) -> dict[str, str]:
    """Templates by name: "default", and "tool_use" where a model has its own for tools.

    As Transformers looks for them: files before tokenizer_config.json, which holds one template,
    or a list of them; old models of pictures and text have a chat_template.json.
    """
    files = {"default": TEMPLATE, "tool_use": TOOL_TEMPLATE}
    try:
        found = {name: data.decode("utf-8") for name, file in files.items()
                 if (data := await read(file)) is not None}
    except UnicodeDecodeError as error:
        raise CheckpointError("The chat template is not UTF-8.", received=str(error)) from error
    if found:
        return found
    given = settings.get("chat_template") or (await _json(read, OLD_TEMPLATE)).get("chat_template")
    if isinstance(given, str):
        return {"default": given}
    named = given if isinstance(given, list) else []
    return {str(one["name"]): str(one["template"]) for one in named
            if isinstance(one, dict) and one.keys() >= {"name", "template"}}


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
