"""One line of a JSONL file: a text, a conversation, or the reason why it is neither."""

from __future__ import annotations

from typing import Any

from tabgrad.data.documents import Chat, Text
from tabgrad.text import strict_json

MAX_LINE = 16 << 20
MAX_MESSAGES = 1000
ROLES = ("system", "developer", "user", "assistant", "tool")
_SHOWN = 40


class Unusable(ValueError):
    """A line that cannot be used; the text says why."""


def read_object(raw: bytes) -> dict[str, Any]:
    """The JSON object on a line.

    Raises:
        Unusable: there is none, or it is not strict JSON.

    Example:
        >>> read_object(b'{"text": "a", "text": "b"}')
        Traceback (most recent call last):
        ...
        tabgrad.data.lines.Unusable: the name "text" stands twice
    """
    if len(raw) > MAX_LINE:
        raise Unusable(f"longer than {MAX_LINE:,} bytes")
    try:
        value = strict_json.load(raw.decode("utf-8"), finite=True)
    except strict_json.NameTwice as error:
        raise Unusable(f'the name "{str(error)[:_SHOWN]}" stands twice') from error
    except strict_json.NotStrict as error:
        raise Unusable(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise Unusable(f"not JSON: {str(error)[:100]}") from error
    if not isinstance(value, dict):
        raise Unusable("not a JSON object")
    return value


def read_document(table: dict[str, Any], line: int) -> Text | Chat:
    """The text or conversation that an object is; its other fields do not count.

    Raises:
        Unusable: it is neither, or not as it should be.

    Example:
        >>> read_document({"text": "a", "source": "b"}, 3)
        Text(line=3)
        >>> read_document({"messages": [{"role": "user", "content": "?"}]}, 4)
        Traceback (most recent call last):
        ...
        tabgrad.data.lines.Unusable: no message of the assistant, so nothing is learned
    """
    if "messages" in table and "text" in table:
        raise Unusable('both a "text" and "messages"')
    if "messages" in table:
        return _chat(table, line)
    if "text" not in table:
        raise Unusable('no "text" and no "messages"')
    text = table["text"]
    if not isinstance(text, str):
        raise Unusable('"text" is not a text')
    if not text.strip():
        raise Unusable("the text is empty")
    return Text(line, text)


def _chat(table: dict[str, Any], line: int) -> Chat:
    messages, tools = table["messages"], table.get("tools")
    if not isinstance(messages, list):
        raise Unusable('"messages" is not a list')
    if not messages:
        raise Unusable('"messages" is empty')
    if len(messages) > MAX_MESSAGES:
        raise Unusable(f"more than {MAX_MESSAGES} messages")
    for number, message in enumerate(messages, 1):
        _check_message(message, f"message {number}")
    if all(message["role"] != "assistant" for message in messages):
        raise Unusable("no message of the assistant, so nothing is learned")
    if tools is not None and not _objects(tools):
        raise Unusable('"tools" is not a list of objects')
    return Chat(line, messages, tools or None)


def _check_message(message: Any, where: str) -> None:
    if not isinstance(message, dict):
        raise Unusable(f"{where} is not an object")
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str):
        raise Unusable(f"{where} has no role")
    if role not in ROLES:
        raise Unusable(f'{where} has the role "{role[:_SHOWN]}", not one of {", ".join(ROLES)}')
    calls = message.get("tool_calls")
    if calls is not None and not _objects(calls):
        raise Unusable(f'{where}: "tool_calls" is not a list of objects')
    if content is None:
        if not calls:
            raise Unusable(f"{where} has no content")
    elif not isinstance(content, str) and not _texts(content):
        raise Unusable(f"the content of {where} is not text")


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _texts(content: Any) -> bool:
    return bool(content) and _objects(content) and all(
        one.get("type") == "text" and isinstance(one.get("text"), str) for one in content)
