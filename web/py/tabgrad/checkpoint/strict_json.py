"""JSON objects of a checkpoint's files: bounded, UTF-8, strict as `text/strict_json.py` says."""

from __future__ import annotations

from typing import Any

from tabgrad.errors import CheckpointError
from tabgrad.platform.transfer import looks_like_html
from tabgrad.text.strict_json import NameTwice, load


def parse_object(data: bytes, name: str, limit: int) -> dict[str, Any]:
    """The JSON object in a file.

    Args:
        data: the file's bytes.
        name: of the file, for the error.
        limit: most bytes that such a file may have.

    Raises:
        CheckpointError: too long; a page of HTML; no JSON, or no object; a name twice.

    Example:
        >>> parse_object(b'{"model_type": "llama"}', "config.json", 100)
        {'model_type': 'llama'}
    """
    if len(data) > limit:
        raise CheckpointError(f"{name} is too long for what it should be.",
                              expected=f"at most {limit:,} bytes", received=f"{len(data):,} bytes")
    if looks_like_html(data):
        raise CheckpointError(f"{name} is a web page, not JSON.",
                              remedy="Get the file again, from the model's folder itself.")
    try:
        table = load(data.decode("utf-8"))
    except NameTwice as error:
        raise CheckpointError(f"{name} has a name twice.", received=str(error)[:100]) from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{name} is not valid JSON.", received=str(error)[:200]) from error
    if not isinstance(table, dict):
        raise CheckpointError(f"{name} is not a JSON object.", received=type(table).__name__)
    return table

