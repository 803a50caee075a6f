"""A session: something that answers the commands of protocol.json, wherever it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from tools.shell import BuildError

Message = dict[str, Any]


class Session(Protocol):
    """The page in a browser, or the application on CPython: one table of messages for both."""

    async def next_message(self) -> Message:
        """The next message to the page."""

    async def start(self) -> dict[str, Any]:
        """Starts the application and gives the reply to `boot`."""

    async def command(self, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Sends one command and gives its reply; a failure raises BuildError with its words.

        A field of the type `files` is a list of paths.
        """

    async def close(self) -> None:
        """Ends what was started."""


def plain_fields(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """What of a command's fields is JSON, and the files that it names.

    Bytes are left out; a list of paths becomes descriptions of files, as the page's own are.

    Example:
        >>> plain_fields({"title": "a", "text": b"hi"})
        ({'title': 'a'}, {})
    """
    plain: dict[str, Any] = {}
    files: dict[str, Path] = {}
    for key, value in fields.items():
        if isinstance(value, list) and value and all(isinstance(one, Path) for one in value):
            files |= {path.name: path for path in value}
            plain[key] = [{"name": path.name, "size": path.stat().st_size} for path in value]
        elif not isinstance(value, bytes):
            plain[key] = value
    return plain, files


def told(problem: dict[str, Any]) -> str:
    """A Problem of protocol.json in one line."""
    parts = [str(problem["message"])]
    if problem.get("expected"):
        parts.append(f"Expected: {problem['expected']}.")
    if problem.get("received"):
        parts.append(f"Received: {problem['received']}.")
    if problem.get("remedy"):
        parts.append(str(problem["remedy"]))
    if problem.get("detail"):
        parts.append(f"({problem['detail']})")
    return " ".join(parts)


def check(message: Message) -> Message:
    """Passes a message on, or raises BuildError when it says that the run failed."""
    failed = message["name"] == "error" or message.get("state") == "failed"
    if failed:
        raise BuildError(told(message.get("problem") or {"message": "The run failed."}))
    return message
