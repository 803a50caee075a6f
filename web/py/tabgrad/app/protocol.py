"""Messages between page and worker, checked against `protocol.json` in both directions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tabgrad.errors import ProtocolError

Fields = Mapping[str, str]


class Protocol:
    """The table of messages.

    A type is `string`, `integer`, `number`, `boolean`, `object`, `bytes`, `files` (descriptions of
    dropped files; their bytes stay in JavaScript), `list:TYPE` or a name of `types`; a trailing `?`
    lets the field be null or missing.

    Args:
        table: the parsed protocol.json.

    Example:
        >>> protocol = load_protocol()
        >>> protocol.check_command("restore", {"run": "quiet-otter", "train": True})
        >>> protocol.bytes_field("import"), protocol.bytes_field("pause")
        ('zip', None)
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._types: Mapping[str, Fields] = table["types"]
        self._to_worker: Mapping[str, Any] = table["to_worker"]
        self._to_page: Mapping[str, Any] = table["to_page"]

    @property
    def commands(self) -> tuple[str, ...]:
        """Names of all commands."""
        return tuple(self._to_worker)

    def bytes_field(self, command: str) -> str | None:
        """The field of a command that holds bytes, if there is one."""
        fields: Fields = self._entry("command", self._to_worker, command)["fields"]
        return next((name for name, kind in fields.items() if kind.startswith("bytes")), None)

    def check_command(self, name: str, fields: Mapping[str, Any]) -> None:
        """Raises ProtocolError unless the command and its fields are in the table."""
        entry = self._entry("command", self._to_worker, name)
        self._check_fields(name, entry["fields"], fields)

    def check_reply(self, name: str, result: Mapping[str, Any]) -> None:
        """Raises ProtocolError unless this may answer the command `name`."""
        entry = self._entry("command", self._to_worker, name)
        self._check_fields(f"{name} reply", entry["reply"], result)

    def check_event(self, name: str, fields: Mapping[str, Any]) -> None:
        """Raises ProtocolError unless this may be sent to the page."""
        entry = self._entry("message", self._to_page, name)
        self._check_fields(name, entry["fields"], fields)

    def _entry(self, kind: str, table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        if name not in table:
            raise ProtocolError(f"There is no {kind} named {name!r}.",
                                expected=", ".join(table), received=repr(name)[:80])
        entry: Mapping[str, Any] = table[name]
        return entry

    def _check_fields(self, path: str, expected: Fields, fields: Mapping[str, Any]) -> None:
        for field, kind in expected.items():
            self._check(f"{path}.{field}", kind, fields.get(field))
        for field in fields:
            if field not in expected:
                raise ProtocolError(f"{path} has no field {field!r}.",
                                    expected=", ".join(expected) or "no fields",
                                    received=str(field)[:80])

    def _check(self, path: str, kind: str, value: Any) -> None:
        if kind.endswith("?"):
            if value is None:
                return
            kind = kind[:-1]
        if kind.startswith("list:"):
            if not isinstance(value, list):
                raise _wrong(path, kind, value)
            for i, item in enumerate(value):
                self._check(f"{path}[{i}]", kind[5:], item)
        elif kind in self._types:
            if not isinstance(value, Mapping):
                raise _wrong(path, kind, value)
            self._check_fields(path, self._types[kind], value)
        elif not _is_plain(kind, value):
            raise _wrong(path, kind, value)


@cache
def load_protocol() -> Protocol:
    """The table of this version: `tabgrad/protocol.json` in the wheel, `web/` in a checkout."""
    package = Path(__file__).parents[1]
    places = (package / "protocol.json", package.parents[1] / "protocol.json")
    place = next((path for path in places if path.is_file()), None)
    if place is None:
        raise ProtocolError("protocol.json is missing from this installation of tabgrad.")
    return Protocol(json.loads(place.read_text(encoding="utf-8")))


def _is_plain(kind: str, value: Any) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if kind == "integer":
        return type(value) is int
    if kind == "number":
        return type(value) is int or (type(value) is float and math.isfinite(value))
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "object":
        return isinstance(value, Mapping)
    if kind == "bytes":
        return isinstance(value, bytes)
    if kind == "files":
        return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)
    raise ProtocolError(f"protocol.json uses the type {kind!r}, which it does not define.")


def _wrong(path: str, kind: str, value: Any) -> ProtocolError:
    # What should be an object may hold a secret, such as the header with an access token.
    received = type(value).__name__ if kind == "object" else repr(value)[:80]
    return ProtocolError(f"{path} is not as protocol.json says.", expected=kind,
                         received=received)
