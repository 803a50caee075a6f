"""The files of a checkpoint: what a trainer holds, as a folder that Transformers loads.

`model.safetensors` and `config.json` have the names and layouts of the model's family;
`optimizer.safetensors` has the moments under our names; `state.json` has all that is not a tensor.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.checkpoint.safetensors import decode, encode
from tabgrad.errors import CheckpointError
from tabgrad.models.config_json import config_json
from tabgrad.models.configs import recipe_from_config
from tabgrad.models.recipe import Recipe
from tabgrad.models.state import from_files, to_files
from tabgrad.text.json_object import parse_json

State = dict[str, NDArray[np.float32]]

MODEL, CONFIG, OPTIMIZER, STATE = ("model.safetensors", "config.json", "optimizer.safetensors",
                                   "state.json")
_MOMENTS = ("first_moment", "second_moment")
_ADAMW = "adamw"  # of checkpoints that name no optimiser
_VERSION = 2  # 1 had GPT-2's names in the moments


@dataclass(frozen=True)
class Checkpoint:
    """All that training needs to go on with the same bits.

    Args:
        recipe: the model's sizes.
        weights: name -> float32 array, our names.
        first_moment: the optimiser's, likewise.
        second_moment: likewise, of the parameters that have one: with AdamW all.
        state: JSON-able; the trainer's step, settings and history.
        text_files: tokenizer.json and the like, of a model that does not read bytes.
        config: config.json to write; the one of the recipe if None.
    """

    recipe: Recipe
    weights: State
    first_moment: State
    second_moment: State
    state: dict[str, Any]
    text_files: Mapping[str, bytes] = field(default_factory=dict)
    config: Mapping[str, Any] | None = None

    @property
    def optim(self) -> str:
        """Name of the optimiser whose moments these are."""
        return optim_of(self.state)


@dataclass(frozen=True)
class Snapshot:
    """A checkpoint on its way to the disk.

    Args:
        weights: name -> float32 array, of what is trained; looked through before it is kept.
        files: file name -> pieces.
    """

    weights: State
    files: dict[str, Iterable[bytes]]


def write_folder(checkpoint: Checkpoint) -> dict[str, Iterable[bytes]]:
    """Flat file name -> pieces, for `RunStore.save`."""
    config = dict(checkpoint.config or config_json(checkpoint.recipe))
    moments = {kind: getattr(checkpoint, kind) for kind in _MOMENTS}
    model = encode(to_files(checkpoint.recipe, checkpoint.weights), {"format": "pt"})
    return {MODEL: model, CONFIG: [json.dumps(config, indent=1).encode()],
            OPTIMIZER: write_moments(moments), STATE: write_state(checkpoint.state),
            **{name: [data] for name, data in checkpoint.text_files.items()}}


def read_folder(files: Mapping[str, bytes]) -> Checkpoint:
    """Reads the files of a checkpoint; the arrays have the bits that were written.

    Raises:
        CheckpointError: a file is missing, or not as it should be.
    """
    recipe, weights = read_model(files)
    state = read_state(files)
    moments = read_moments(files, {name: array.shape for name, array in weights.items()},
                           optim_of(state))
    return Checkpoint(recipe, weights, moments["first_moment"], moments["second_moment"], state)


def write_state(state: Mapping[str, Any]) -> list[bytes]:
    """state.json."""
    return [json.dumps({"version": _VERSION, **state}).encode()]


def read_state(files: Mapping[str, bytes]) -> dict[str, Any]:
    """state.json: all of a checkpoint that is not a tensor.

    Raises:
        CheckpointError: there is none, or it is of another version.
    """
    state = parse_json(_file(files, STATE), STATE)
    if state.get("version") != _VERSION:
        raise CheckpointError("This checkpoint was written by another version.",
                              expected=f"version {_VERSION}",
                              received=f"version {state.get('version')}")
    return state


def optim_of(state: Mapping[str, Any]) -> str:
    """Name of the optimiser whose moments a checkpoint holds.

    Example:
        >>> optim_of({"settings": {"optim": "lion"}}), optim_of({})
        ('lion', 'adamw')
    """
    settings = state.get("settings")
    return str(settings.get("optim", _ADAMW)) if isinstance(settings, Mapping) else _ADAMW


def write_moments(moments: Mapping[str, State]) -> Iterable[bytes]:
    """optimizer.safetensors of {"first_moment": ..., "second_moment": ...}."""
    return encode({f"{kind}.{name}": array for kind in _MOMENTS
                   for name, array in moments[kind].items()})


def read_moments(files: Mapping[str, bytes], shapes: Mapping[str, tuple[int, ...]],
                 optim: str) -> dict[str, State]:
    """Both kinds of moments; the arrays have the bits that were written.

    Args:
        files: of the checkpoint.
        shapes: name -> shape of what is trained.
        optim: whose moments they are.

    Raises:
        CheckpointError: they do not fit.
    """
    tensors, _ = decode(_file(files, OPTIMIZER))
    moments: dict[str, State] = {kind: {} for kind in _MOMENTS}
    for name, array in tensors.items():
        kind, _, rest = name.partition(".")
        if kind not in moments:
            raise CheckpointError(f"{OPTIMIZER} holds a tensor that is no moment.", received=name)
        moments[kind][rest] = array
    _check_same("first_moment", moments["first_moment"], shapes)
    if optim != _ADAMW:  # others have a second moment of some parameters, or of none
        shapes = {name: shapes.get(name, ()) for name in moments["second_moment"]}
    _check_same("second_moment", moments["second_moment"], shapes)
    return moments


def read_model(files: Mapping[str, bytes]) -> tuple[Recipe, State]:
    """Only recipe and weights (our names): enough to generate."""
    recipe = recipe_from_config(parse_json(_file(files, CONFIG), CONFIG))
    tensors, _ = decode(_file(files, MODEL))
    for name, array in tensors.items():
        if array.dtype != np.float32:
            raise CheckpointError(f"{MODEL}: {name} is not float32.", received=str(array.dtype))
    return recipe, from_files(recipe, tensors)


def _check_same(kind: str, state: State, shapes: Mapping[str, tuple[int, ...]]) -> None:
    found = {name: array.shape for name, array in state.items()}
    if found != dict(shapes) or any(array.dtype != np.float32 for array in state.values()):
        different = sorted(set(found.items()) ^ set(shapes.items()))[:3]
        raise CheckpointError(f"{OPTIMIZER}: the {kind} does not fit the weights.",
                              received=", ".join(f"{name} {shape}" for name, shape in different))


def _file(files: Mapping[str, bytes], name: str) -> bytes:
    if name not in files:
        raise CheckpointError(f"This checkpoint has no {name}.", expected=name,
                              received=", ".join(sorted(files))[:200])
    return files[name]
