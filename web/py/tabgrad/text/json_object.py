"""JSON objects in files of ours, and in those that a tokenizer comes with."""

from __future__ import annotations

import json
from typing import Any

from tabgrad.errors import CheckpointError


def parse_json(data: bytes, name: str) -> dict[str, Any]:
    """The JSON object of a file.

    Args:
        data: the file's bytes.
        name: of the file, for the error.

    Raises:
        CheckpointError: no JSON, or no object.

    Example:
        >>> parse_json(b'{"step": 3}', "state.json")
        {'step': 3}
    """
    try:
        table = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{name} is not valid JSON.", received=str(error)[:200]) from error
    if not isinstance(table, dict):
        raise CheckpointError(f"{name} is not a JSON object.")
    return table
