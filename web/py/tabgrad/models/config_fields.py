"""Fields of a config.json, each checked before anything is made of it: anybody may have written it.

A field that is null counts as left out, as Transformers has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tabgrad.errors import CheckpointError

Config = Mapping[str, Any]
LARGEST = 2**31 - 1


def size(config: Config, name: str, default: int | None = None, *, least: int = 1,
         most: int = LARGEST) -> int:
    """A whole number from `least` to `most`.

    Raises:
        CheckpointError: it is another, or it is left out and has no default.

    Example:
        >>> size({"n_layer": 12}, "n_layer"), size({"n_layer": None}, "n_layer", 6)
        (12, 6)
    """
    value = default if config.get(name) is None else config[name]
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise CheckpointError(f"config.json: {name} is not a size.",
                              expected=f"a whole number from {least} to {most}",
                              received=repr(value)[:80])
    return value


def number(config: Config, name: str, default: float | None = None) -> float:
    """A number above zero.

    Raises:
        CheckpointError: it is another, or it is left out and has no default.

    Example:
        >>> number({"rms_norm_eps": 1e-6}, "rms_norm_eps")
        1e-06
    """
    value = default if config.get(name) is None else config[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise CheckpointError(f"config.json: {name} is not a number that can be used.",
                              expected="a number above 0", received=repr(value)[:80])
    return float(value)


def table(config: Config, name: str) -> dict[str, Any]:
    """A JSON object; an empty one where it is left out.

    Raises:
        CheckpointError: it is something else.
    """
    value = config.get(name)
    if value is not None and not isinstance(value, dict):
        raise CheckpointError(f"config.json: {name} is not a JSON object.",
                              expected="an object or null", received=repr(value)[:80])
    return value or {}


def values(config: Config, name: str, kind: type) -> list[Any] | None:
    """A list whose members are all of one kind; None where it is left out or empty.

    Raises:
        CheckpointError: it is something else.

    Example:
        >>> values({"mlp_only_layers": [0, 3]}, "mlp_only_layers", int)
        [0, 3]
    """
    found = config.get(name)
    if found is None:
        return None
    if not isinstance(found, list | tuple) or any(type(one) is not kind for one in found):
        raise CheckpointError(f"config.json: {name} is not a list that can be used.",
                              expected=f"a list of {kind.__name__}", received=repr(found)[:80])
    return list(found) or None
