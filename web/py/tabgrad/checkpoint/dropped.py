"""Which of the files that were dropped on the page make a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabgrad.checkpoint.facts import EXTRAS
from tabgrad.checkpoint.shards import INDEX
from tabgrad.checkpoint.stored_model import CONFIG
from tabgrad.errors import CheckpointError


def chosen_files(dropped: Mapping[str, Any]) -> dict[str, Any]:
    """The dropped files that a model needs, by their own names; the weights last.

    Args:
        dropped: path of each file, as dropped -> the file, whatever it is.

    Raises:
        CheckpointError: they are no model, or those of two.

    Example:
        >>> list(chosen_files({"m/model.safetensors": 1, "m/config.json": 2, "m/notes.txt": 3}))
        ['config.json', 'model.safetensors']
    """
    chosen: dict[str, Any] = {}
    for path, source in sorted(dropped.items()):
        name = path.rsplit("/", 1)[-1]
        if name in (CONFIG, INDEX, *EXTRAS) or name.endswith(".safetensors"):
            if name in chosen:
                raise CheckpointError(f"There are two files {name} among these.",
                                      remedy="Drop the files of one model.")
            chosen[name] = source
    if CONFIG not in chosen or not any(name.endswith(".safetensors") for name in chosen):
        raise CheckpointError("These files are no model that can be read here.",
                              expected=f"{CONFIG}, tokenizer.json and .safetensors files",
                              received=", ".join(sorted(dropped))[:200] or "nothing")
    return dict(sorted(chosen.items(), key=lambda item: item[0].endswith(".safetensors")))
