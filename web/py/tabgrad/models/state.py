"""A decoder's weights as arrays, under our names and under those of Hugging Face's files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import CheckpointError
from tabgrad.models.decoder import parameter_shapes
from tabgrad.models.names import Placement, canonical, placements
from tabgrad.models.recipe import Recipe

State = dict[str, NDArray[np.float32]]


def to_files(recipe: Recipe, state: Mapping[str, NDArray[np.float32]]) -> State:
    """Our tensors under the names and layouts of the family; `from_files` undoes it bit by bit.

    Args:
        recipe: of the decoder.
        state: name -> array, its complete set (weights, or a moment).

    Raises:
        CheckpointError: a tensor is missing, or one is left over.
    """
    result: State = {}
    shapes = parameter_shapes(recipe)
    _check_state(state, shapes)
    for placement in placements(recipe, shapes):
        stored = placement.shape[::-1] if placement.transposed else placement.shape
        flat = np.empty(int(np.prod(stored)), np.float32)
        for piece in placement.pieces:
            ours = state[piece.parameter].reshape(-1)
            flat[piece.source:piece.source + piece.count] = (
                ours[piece.target:piece.target + piece.count])
        array = flat.reshape(stored)
        result[placement.file] = np.ascontiguousarray(array.T if placement.transposed else array)
    return result


def from_files(recipe: Recipe, files: Mapping[str, NDArray[Any]]) -> State:
    """The tensors of a family's file under our names and layouts.

    Args:
        recipe: of the decoder.
        files: name -> array, of all files together.

    Raises:
        CheckpointError: a tensor is missing, is left over, or has another shape.
    """
    shapes = parameter_shapes(recipe)
    table = placements(recipe, shapes)
    names = checked_names(recipe, table, {name: array.shape for name, array in files.items()})
    result = {name: np.empty(shape, np.float32) for name, shape in shapes.items()}
    for placement in table:
        array = files[names[placement.file]]
        flat = (array.T if placement.transposed else array).reshape(-1)
        for piece in placement.pieces:
            result[piece.parameter].reshape(-1)[piece.target:piece.target + piece.count] = (
                flat[piece.source:piece.source + piece.count])
    return result


def checked_names(recipe: Recipe, table: list[Placement],
                  shapes: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """name in the table -> name in the file, after every tensor was found with its shape.

    Args:
        recipe: of the decoder.
        table: where each tensor goes.
        shapes: of the file's tensors.

    Raises:
        CheckpointError: a tensor is missing, is left over, or has another shape.
    """
    names = canonical(recipe, shapes)
    wanted = {placement.file: placement.shape for placement in table}
    missing, unread = sorted(set(wanted) - set(names)), sorted(set(names) - set(wanted))
    if missing or unread:
        raise CheckpointError(
            f"These are not the tensors of a {recipe.model_type} model with this config.json.",
            expected=f"{_some(missing)} (missing)" if missing else None,
            received=f"{_some([names[name] for name in unread])} (nothing reads it)" if unread
            else None)
    for name, shape in wanted.items():
        found = tuple(shapes[names[name]])
        if _squeezed(found) != _squeezed(shape):
            raise CheckpointError(f"{names[name]} has the wrong shape.", expected=str(shape),
                                  received=str(found))
    return names


def _check_state(state: Mapping[str, NDArray[np.float32]],
                 shapes: Mapping[str, tuple[int, ...]]) -> None:
    found = {name: array.shape for name, array in state.items()}
    if found != dict(shapes):
        different = sorted({name for name, _ in set(found.items()) ^ set(shapes.items())})
        raise CheckpointError("These are not the tensors of this model.",
                              received=_some(different))


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Without axes of 1: a convolution's weight is (C, 1, K) in files and (C, K) here."""
    return tuple(axis for axis in shape if axis != 1)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more
