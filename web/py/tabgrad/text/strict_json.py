"""JSON from anywhere: of bounded depth, no name twice, no text that UTF-8 cannot hold."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 64
# A string that nobody closes reaches to the end, so that no text is walked through twice.
_PARTS = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|[\[{\]}]', re.DOTALL)


class NotStrict(ValueError):
    """JSON of a kind that is refused; the text says which, in a few words."""


class NameTwice(NotStrict):
    """An object has a name twice, so that readers would disagree on its value."""


def load(text: str, *, finite: bool = False, max_depth: int = MAX_DEPTH) -> Any:
    """The value of a JSON text.

    Args:
        text: the JSON.
        finite: whether NaN and Infinity, which JSON does not have but Python reads, are refused.
        max_depth: objects and arrays that may lie in one another.

    Raises:
        NotStrict: what it says.
        ValueError: no JSON; Python's own words.

    Example:
        >>> load('{"text": "a"}')
        {'text': 'a'}
        >>> load('[' * 100_000)
        Traceback (most recent call last):
        ...
        tabgrad.text.strict_json.NotStrict: deeper than 64 levels
    """
    if _deeper(text, max_depth):  # before the reader, whose stack is not ours to overflow
        raise NotStrict(f"deeper than {max_depth} levels")
    value = json.loads(text, object_pairs_hook=_unique,
                       parse_constant=_refuse if finite else None)
    # Only an escape can write half a character: the text itself came out of UTF-8.
    if "\\u" in text and _has_half(value):
        raise NotStrict("half a character of UTF-16 (a lone surrogate)")
    return value


def _deeper(text: str, limit: int) -> bool:
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for found in _PARTS.finditer(text):
        if found[0] in "[{":
            depth += 1
        elif found[0] in "]}":
            depth -= 1
        if depth > limit:
            return True
    return False


def _has_half(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _refuse(constant: str) -> Any:
    raise NotStrict(f"{constant}, which is no number of JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        raise NameTwice(next(name for name in names if names.count(name) > 1))
    return table
