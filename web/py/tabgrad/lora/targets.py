"""What can be adapted in a model, by the names that Hugging Face's modules have.

A file's tensor and our parameters are not always one to one (models/names.py): GPT-2's `c_attn` is
our queries, keys and values. An adapter belongs to the file's module, and to the products of ours
that compute it: a whole one, some of its columns, or parts of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import SettingsError
from tabgrad.lora.config import LoraConfig
from tabgrad.models.decoder import Decoder
from tabgrad.models.names import Placement, placements
from tabgrad.models.recipe import Recipe
from tabgrad.nn import Joined, Linear
from tabgrad.nn.module import walk

HEAD = "lm_head"
# What a mixture had in an MLP before its experts were stacked, and has now. PEFT takes any of these
# names, even in a layer without experts, for the stacked parameters.
_OF_A_MIXTURE = ("gate", *(f"{place}{name}" for place in ("", "experts.") for name in (
    "gate_proj", "up_proj", "down_proj", "gate_up_proj", "w1", "w2", "w3")))


@dataclass(frozen=True, eq=False)
class Part:
    """Columns of one product that a module computes.

    Args:
        product: path of the Linear or Joined in the decoder.
        first: the first of these columns.
        order: (rows) which row of the module's weight, in Hugging Face's layout, each column is.
    """

    product: str
    first: int
    order: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Target:
    """A module that can have an adapter.

    Args:
        module: its name in Hugging Face's model.
        in_features: numbers that it reads.
        out_features: numbers that it gives.
        parts: where it is computed here; nearly always in one product.
        transposed: whether its files hold (in, out).
    """

    module: str
    in_features: int
    out_features: int
    parts: tuple[Part, ...]
    transposed: bool


def targets(recipe: Recipe) -> dict[str, Target]:
    """Everything that can be adapted, in the order of the layers.

    In a mixture of experts nothing of an MLP is among it: the experts and their router are no
    linear modules in Transformers either, but stacked parameters.

    Example:
        >>> from tabgrad.models.recipe import preset
        >>> list(targets(preset("tiny")))[:2]
        ['transformer.h.0.attn.c_attn', 'transformer.h.0.attn.c_proj']
    """
    decoder = Decoder.unplaced(recipe)
    shapes = {name: parameter.shape for name, parameter in decoder.named_parameters()}
    products = _products(decoder)
    places = {name: place for place, name in enumerate(shapes)}
    found = []
    for placement in placements(recipe, shapes):
        module, _, tensor = placement.file.rpartition(".")
        if recipe.experts and ".mlp." in placement.pieces[0].parameter:
            continue
        if tensor == "weight" and all(one.parameter in products for one in placement.pieces):
            found.append((places[placement.pieces[0].parameter],
                          _target(module, placement, products, shapes)))
    return {target.module: target for _, target in sorted(found, key=lambda one: one[0])}


def chosen(config: LoraConfig, recipe: Recipe) -> dict[str, Target]:
    """The targets that a config names, in the order of the layers.

    Raises:
        SettingsError: it names none, or an expert or a router.
    """
    _refuse_experts(config, recipe)
    everything = targets(recipe)
    found = {module: target for module, target in everything.items() if config.matches(module)
             and not (config.is_all_linear and module == HEAD)}
    if not found:
        kinds = sorted({module.rpartition(".")[2] for module in everything})
        raise SettingsError("No module of this model has such a name.", control="target_modules",
                            expected=f"{', '.join(kinds)}, or all-linear",
                            received=repr(config.target_modules)[:200])
    return found


def _refuse_experts(config: LoraConfig, recipe: Recipe) -> None:
    if recipe.experts is None or config.is_all_linear:
        return
    for layer in range(recipe.num_hidden_layers):
        for name in _OF_A_MIXTURE:
            if config.matches(f"model.layers.{layer}.mlp.{name}"):
                raise SettingsError("Experts of a mixture and their router have no adapters here.",
                                    expected="names of attention's modules, or all-linear",
                                    received=repr(config.target_modules)[:200],
                                    control="target_modules")


def _products(decoder: Decoder) -> dict[str, tuple[str, int]]:
    """Parameter of a matrix -> path of the product that it is in, and its first column there."""
    names = {id(parameter): name for name, parameter in decoder.named_parameters()}
    found: dict[str, tuple[str, int]] = {}
    for path, value in walk(decoder):
        if isinstance(value, Linear):
            found.setdefault(f"{path}.weight", (path, 0))
        elif isinstance(value, Joined) and value.parameters[0].ndim == 2:
            first = 0
            for parameter in value.parameters:
                found[names[id(parameter)]] = (path, first)
                first += parameter.shape[0]
    return found


def _target(module: str, placement: Placement, products: Mapping[str, tuple[str, int]],
            shapes: Mapping[str, tuple[int, ...]]) -> Target:
    out_features, in_features = placement.shape
    if placement.transposed:
        in_features, out_features = placement.shape
    columns: dict[str, list[tuple[int, int]]] = {}
    for piece in placement.pieces:
        product, first = products[piece.parameter]
        width = shapes[piece.parameter][1]
        columns.setdefault(product, []).extend(
            (first + piece.target // width + row, piece.source // width + row)
            for row in range(piece.count // width))
    parts = []
    for product, pairs in columns.items():
        pairs.sort()
        assert pairs[-1][0] - pairs[0][0] == len(pairs) - 1, f"{module}: columns with gaps"
        parts.append(Part(product, pairs[0][0], np.array([row for _, row in pairs], np.intp)))
    return Target(module, in_features, out_features, tuple(parts), placement.transposed)
