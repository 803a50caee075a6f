"""The names of an adapter's tensors in PEFT's files."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import CheckpointError
from tabgrad.models.names import canonical
from tabgrad.models.recipe import Recipe

State = dict[str, NDArray[np.float32]]

PREFIX = "base_model.model."
_ENDINGS = (".lora_A.weight", ".lora_B.weight")


def tensor_names(module: str) -> tuple[str, str]:
    """Names of the A and the B of a module.

    Example:
        >>> tensor_names("lm_head")
        ('base_model.model.lm_head.lora_A.weight', 'base_model.model.lm_head.lora_B.weight')
    """
    first, second = (f"{PREFIX}{module}{ending}" for ending in _ENDINGS)
    return first, second


def module_of(tensor: str) -> str:
    """The module that a tensor belongs to.

    Raises:
        CheckpointError: the name is of another kind.

    Example:
        >>> module_of("base_model.model.lm_head.lora_A.weight")
        'lm_head'
    """
    for ending in _ENDINGS:
        if tensor.startswith(PREFIX) and tensor.endswith(ending):
            return tensor[len(PREFIX):-len(ending)]
    raise CheckpointError("This is no tensor of a LoRA adapter.", received=tensor[:120],
                          expected=f"{PREFIX}<module>{_ENDINGS[0]} or {_ENDINGS[1]}")


def known_names(recipe: Recipe, state: Mapping[str, NDArray[np.float32]]) -> State:
    """The tensors under the names that the family has here, without prefixes of some files.

    Raises:
        CheckpointError: a tensor of a module that is not computed here.
    """
    modules = list(dict.fromkeys(module_of(tensor) for tensor in state))
    table = canonical(recipe, [f"{module}.weight" for module in modules])
    known = {found.removesuffix(".weight"): name.removesuffix(".weight")
             for name, found in table.items()}
    left = [module for module in modules if module not in known]
    if left:
        raise CheckpointError("This adapter changes a part that has no weights of its own here.",
                              received=", ".join(left[:3]))
    result: State = {}
    for module, name in known.items():
        for old, new in zip(tensor_names(module), tensor_names(name), strict=True):
            if old in state:
                result[new] = state[old]
    return result
