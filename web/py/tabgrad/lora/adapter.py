"""Adapter: low-rank matrices beside a decoder's frozen ones, trained, switched and scaled."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tabgrad import ops
from tabgrad.errors import CheckpointError, SettingsError
from tabgrad.lora.config import LoraConfig
from tabgrad.lora.merge import merge, unmerge
from tabgrad.lora.names import State, known_names, module_of, tensor_names
from tabgrad.lora.targets import Target, chosen, targets
from tabgrad.models.decoder import Decoder
from tabgrad.nn import Joined, Linear, Module, Parameter, ParameterArena
from tabgrad.nn.low_rank import LowRank
from tabgrad.platform.gpu_protocol import ALIGNMENT
from tabgrad.reference.philox import uniform
from tabgrad.tensor import ITEM_BYTES, Tensor

FIRST_STREAM = 2**49  # of the initial values, far from those of a decoder with the same seed


class Site(Module):
    """The matrices of one module.

    Args:
        target: the module.
        rank: r.
        scaling: what their product is multiplied by, at weight 1.
        draw: gives the initial values of A; B starts at 0.

    lora_A is (r, in); lora_B has one matrix (rows, r) for each of the target's parts.
    """

    def __init__(self, target: Target, rank: int, scaling: float,
                 draw: Callable[[], NDArray[np.float32]]) -> None:
        self.target = target
        self.scaling = scaling
        self.lora_A = Parameter.lazy((rank, target.in_features), True, draw)
        self.lora_B = [_zeros(len(part.order), rank) for part in target.parts]


class Adapter(Module):
    """Low-rank matrices for some modules of a decoder whose own weights are frozen.

    Args:
        decoder: the base; its weights may be stored in 16 bits.
        config: rank, scale and modules.
        name: what messages call it.
        seed: of the initial values: A ~ U(-1/sqrt(in), 1/sqrt(in)), B = 0, so that a new adapter
            changes nothing.
        trainable: whether it gets gradients.
        modules: names of the modules, where they are known from a file; else those that
            `config.target_modules` matches.

    Raises:
        SettingsError: no module matches, or the decoder's weights are not frozen.

    Attributes:
        arena: the matrices and their gradients; the optimiser works on it.
        config: as given, but with the names of the modules instead of "all-linear", as PEFT saves
            it.
        dropout_seed: (2) uint32, set while a training step is recorded, and written before each of
            its runs; None drops nothing.
        weight: what `set_weight` last set.

    Source: Hu et al., "LoRA: low-rank adaptation of large language models", 2021.
    """

    def __init__(self, decoder: Decoder, config: LoraConfig, *, name: str = "default",
                 seed: int = 0, trainable: bool = True,
                 modules: Collection[str] | None = None) -> None:
        if any(parameter.requires_grad for _, parameter in decoder.named_parameters()):
            raise SettingsError("The model under an adapter must be frozen.",
                                remedy="Load it, or make it with trainable=False.")
        wanted = (chosen(config, decoder.recipe) if modules is None
                  else _named(modules, decoder))
        self.decoder = decoder
        self.name = name
        self.config = replace(
            config, fan_in_fan_out=any(target.transposed for target in wanted.values()),
            target_modules=tuple(wanted) if config.is_all_linear else config.target_modules)
        self.sites = {module: _site(target, config, seed, number)
                      for number, (module, target) in enumerate(wanted.items())}
        self.arena = ParameterArena(self, decoder.device, trainable=trainable)
        self.dropout_seed: Tensor | None = None
        self.weight = 1.0
        self.is_merged = False
        self._scales = self._make_scales()
        self._attached: list[tuple[Linear | Joined, LowRank]] = []
        self.set_weight(1.0)

    @classmethod
    def opened(cls, decoder: Decoder, config: LoraConfig, state: Mapping[str, NDArray[np.float32]],
               *, name: str = "default", trainable: bool = False) -> Adapter:
        """The adapter that a file holds.

        Args:
            decoder: the base.
            config: of the file.
            state: its tensors, by PEFT's names. They say which modules are adapted, so that no
                expression of a stranger is run over names.
            name: what messages call it.
            trainable: whether it is trained further.

        Raises:
            CheckpointError: tensors that do not fit the decoder.
        """
        known = known_names(decoder.recipe, state)
        adapter = cls(decoder, config, name=name, trainable=trainable,
                      modules={module_of(tensor) for tensor in known})
        adapter.write(known)
        return adapter

    # --- what optimisers and checkpoints see ------------------------------------------------------

    def named_parameters(self) -> list[tuple[str, Parameter]]:
        """The adapter's own matrices, under PEFT's names without their prefix.

        Where B is in two parts (see `Target`), `lora_B.0.weight` and `lora_B.1.weight`.
        """
        found = []
        for module, site in self.sites.items():
            found.append((f"{module}.lora_A.weight", site.lora_A))
            several = len(site.lora_B) > 1
            found += [(f"{module}.lora_B.{number}.weight" if several
                       else f"{module}.lora_B.weight", part)
                      for number, part in enumerate(site.lora_B)]
        return found

    def joined(self) -> list[Joined]:
        """None: nothing of it lies together."""
        return []

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Name -> parameter, as in the arena."""
        return self.arena.parameters

    async def state(self) -> State:
        """The matrices under PEFT's names and in its layout, as `write` takes them."""
        return self.to_peft(await self.arena.read(self.arena.weights))

    def write(self, state: Mapping[str, NDArray[np.float32]]) -> None:
        """Takes the matrices from tensors under PEFT's names.

        Raises:
            CheckpointError: a name is missing or unknown, or a shape differs.
        """
        self.arena.write(self.arena.weights, self.from_peft(state))

    def to_peft(self, values: Mapping[str, NDArray[np.float32]]) -> State:
        """Values by the arena's names (weights, or a moment) by PEFT's names and in its layout."""
        found: State = {}
        for module, site in self.sites.items():
            names = [part.name for part in site.lora_B]
            rank = site.lora_A.shape[0]
            rows = np.empty((site.target.out_features, rank), np.float32)
            for name, part in zip(names, site.target.parts, strict=True):
                rows[part.order] = values[name]
            first, second = tensor_names(module)
            found[first], found[second] = values[site.lora_A.name], rows
        return found

    def from_peft(self, state: Mapping[str, NDArray[np.float32]]) -> State:
        """What `to_peft` gave, by the arena's names again.

        Raises:
            CheckpointError: a name is missing or unknown, or a shape differs.
        """
        self._check(state)
        found: State = {}
        for module, site in self.sites.items():
            first, second = tensor_names(module)
            found[site.lora_A.name], rows = state[first], state[second]
            for parameter, part in zip(site.lora_B, site.target.parts, strict=True):
                found[parameter.name] = rows[part.order]
        return found

    def _check(self, state: Mapping[str, NDArray[np.float32]]) -> None:
        expected = {}
        for module, site in self.sites.items():
            rank, target = site.lora_A.shape[0], site.target
            first, second = tensor_names(module)
            expected[first] = (rank, target.in_features)
            expected[second] = (target.out_features, rank)
        different = sorted(set(expected) ^ set(state))
        if different:
            raise CheckpointError(
                f"The adapter {self.name} has other tensors than its settings say.",
                expected=f"{len(expected)} tensors",
                received=f"{len(state)} tensors; {different[0]} differs")
        for name, shape in expected.items():
            if state[name].shape != shape:
                raise CheckpointError(f"{name} does not fit this model.", expected=str(shape),
                                      received=str(state[name].shape))

    # --- at work ----------------------------------------------------------------------------------

    def attach(self) -> None:
        """From now on what is recorded has the adapter in it. Does nothing the second time."""
        if self._attached:
            return
        for number, site in enumerate(self.sites.values()):
            dropped = partial(self._drop, number) if self.config.lora_dropout else None
            for part, matrix in zip(site.target.parts, site.lora_B, strict=True):
                product = _product(self.decoder, part.product)
                adapter = LowRank(part.first, matrix.shape[0], site.lora_A, matrix,
                                  self._scales[site.scaling], dropped)
                product.adapters.append(adapter)
                self._attached.append((product, adapter))

    def detach(self) -> None:
        """From now on what is recorded is without it. Plans that have it keep it."""
        for product, adapter in self._attached:
            product.adapters.remove(adapter)
        self._attached = []

    def set_weight(self, weight: float) -> None:
        """How much the adapter counts: 0 is off, 1 is on. Plans that have it follow at once.

        What a cache holds of earlier positions stays as it was: forget it.

        Raises:
            SettingsError: the weight is not finite, or the adapter is merged.
        """
        if not math.isfinite(weight):
            raise SettingsError("The weight of an adapter is a finite number.",
                                received=str(weight), control="weight")
        if self.is_merged:
            raise SettingsError(f"The adapter {self.name} is merged.", remedy="Unmerge it first.")
        self.weight = weight
        self._write_scales(weight)

    async def merge(self) -> None:
        """Adds the adapter, as much as it counts now, to the decoder's own weights.

        Each sum is rounded once to the precision that the weight is stored in. The weights of
        before are kept on the GPU. An attached adapter adds nothing more until `unmerge`.

        Raises:
            SettingsError: it is merged already.
        """
        if self.is_merged:
            raise SettingsError(f"The adapter {self.name} is merged already.")
        await merge(self.decoder, self, [
            (_product(self.decoder, part.product), part.first, site.lora_A, matrix,
             self._scales[site.scaling])
            for site in self.sites.values()
            for part, matrix in zip(site.target.parts, site.lora_B, strict=True)])
        self._write_scales(0.0)
        self.is_merged = True

    async def unmerge(self) -> None:
        """Gives the decoder its weights of before, bit for bit.

        Raises:
            SettingsError: it is not merged, or another one was merged after it.
        """
        await unmerge(self.decoder, self)
        self.is_merged = False
        self._write_scales(self.weight)

    def _drop(self, number: int, x: Tensor) -> Tensor:
        if self.dropout_seed is None:
            return x
        return ops.dropout(x, self.dropout_seed, self.config.lora_dropout, number)

    def _make_scales(self) -> dict[float, Tensor]:
        """A number on the GPU for each scale that modules have: one, without patterns."""
        different = sorted({site.scaling for site in self.sites.values()})
        storage = self.arena.device.allocate(len(different) * ALIGNMENT, "adapter scales")
        return {scaling: Tensor((1,), "float32", storage.region.part(i * ALIGNMENT, ITEM_BYTES))
                for i, scaling in enumerate(different)}

    def _write_scales(self, weight: float) -> None:
        for scaling, tensor in self._scales.items():
            value = np.float32(weight * scaling)
            self.arena.device.write(tensor.region, value.tobytes())


def _site(target: Target, config: LoraConfig, seed: int, number: int) -> Site:
    rank = config.rank_of(target.module)
    shape = (rank, target.in_features)

    def draw() -> NDArray[np.float32]:
        spread = np.float32(2.0 / math.sqrt(target.in_features))
        draws = uniform(seed, FIRST_STREAM + number, math.prod(shape)).reshape(shape)
        return (draws - np.float32(0.5)) * spread

    return Site(target, rank, config.scaling_of(target.module), draw)


def _zeros(rows: int, columns: int) -> Parameter:
    return Parameter.lazy((rows, columns), True, lambda: np.zeros((rows, columns), np.float32))


def _named(modules: Collection[str], decoder: Decoder) -> dict[str, Target]:
    known = targets(decoder.recipe)
    unknown = [module for module in modules if module not in known]
    if unknown or not modules:
        raise CheckpointError("This adapter is not for this model.",
                              expected=f"modules like {next(iter(known))}",
                              received=", ".join(unknown[:3]) or "no module")
    return {module: target for module, target in known.items() if module in modules}


def _product(decoder: Decoder, path: str) -> Linear | Joined:
    """The product at a path of attributes and numbers."""
    found: object = decoder
    for name in path.split("."):
        found = found[int(name)] if isinstance(found, list) else getattr(found, name)
    assert isinstance(found, Linear | Joined), path
    return found
