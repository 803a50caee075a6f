"""Dataclasses into plain JSON and back, where what comes back may be from anywhere."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tabgrad.errors import CheckpointError

_Kind = TypeVar("_Kind")


def to_plain(value: Any) -> Any:
    """A dataclass, tuple or scalar as what JSON holds; numbers that are not finite become None.

    Example:
        >>> to_plain((1, float("inf"), "a"))
        [1, None, 'a']
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def from_plain(kind: type[_Kind], value: Any, path: str = "evaluation") -> _Kind:
    """The dataclass that `to_plain` was given, with every field of its declared type.

    A float that is None comes back as NaN.

    Args:
        kind: the dataclass.
        value: the plain form.
        path: what to call it in errors.

    Raises:
        CheckpointError: a field is missing, unknown, or of another type.
    """
    if not isinstance(value, Mapping):
        raise _wrong(path, kind.__name__, value)
    hints = _hints(kind)
    if value.keys() != hints.keys():
        different = sorted(map(str, value.keys() ^ hints.keys()))
        raise CheckpointError(f"{path} has other fields than it should.",
                              expected=", ".join(hints), received=f"{different[0][:80]!r} differs")
    return kind(**{name: _read(hint, value[name], f"{path}.{name}")
                   for name, hint in hints.items()})


def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(hint: Any, value: Any, path: str) -> Any:
    if get_origin(hint) is types.UnionType:
        return _read_union(get_args(hint), value, path)
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise _wrong(path, "a list", value)
        return tuple(_read(get_args(hint)[0], one, f"{path}[{i}]") for i, one in enumerate(value))
    if isinstance(hint, type) and is_dataclass(hint):
        return from_plain(hint, value, path)
    if hint is float:
        if value is None:
            return math.nan
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _wrong(path, "a number", value)
        return float(value)
    if type(value) is not hint:
        raise _wrong(path, getattr(hint, "__name__", str(hint)), value)
    return value


def _read_union(kinds: tuple[Any, ...], value: Any, path: str) -> Any:
    """None, or the one of several dataclasses that has these fields."""
    if value is None and type(None) in kinds:
        return None
    known = [kind for kind in kinds if kind is not type(None)]
    if len(known) > 1 and isinstance(value, Mapping):
        known = [kind for kind in known if _hints(kind).keys() == value.keys()] or known
    return _read(known[0], value, path)


def _wrong(path: str, expected: str, value: Any) -> CheckpointError:
    return CheckpointError(f"{path} is not what it should be.", expected=expected,
                           received=repr(value)[:80])
