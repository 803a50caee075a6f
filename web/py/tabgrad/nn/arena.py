"""ParameterArena: all parameters of a module in one buffer, all gradients in another.

The optimiser, the gradient norm and the checkpoint are then one dispatch or one copy each, however
many layers there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import CheckpointError, ShapeError
from tabgrad.gpu.device import Device, current_device
from tabgrad.gpu.storage import Region
from tabgrad.nn.module import Module
from tabgrad.nn.parameter import Parameter, leaf_view
from tabgrad.platform.gpu_protocol import ALIGNMENT
from tabgrad.tensor import ITEM_BYTES, Tensor

State = dict[str, NDArray[np.float32]]


class ParameterArena:
    """Takes in the parameters of a module: names them, lays them out, moves their values there.

    Args:
        module: whose parameters; their values go into the arena.
        device: where; the current device if None.
        trainable: whether they get gradients. Without, there is no second buffer.
        drawn: whether the initial values are made; a model that is loaded needs none.

    Decayed parameters (matrices, embeddings) come first and fill `decayed` elements; biases and
    gains follow. Each starts at a multiple of 256 bytes, so that a kernel can bind it, except
    inside a Joined group: there they touch, and the group starts at such a multiple. The gaps hold
    zeros and stay zero: their gradient is 0.
    """

    def __init__(self, module: Module, device: Device | None = None, *,
                 trainable: bool = True, drawn: bool = True) -> None:
        self.device = device or current_device()
        self.parameters: dict[str, Parameter] = {}
        for name, parameter in module.named_parameters():
            parameter.name = name
            self.parameters[name] = parameter
        groups = _groups(module, list(self.parameters.values()))
        self.offsets, sizes = _layout(groups)
        self.decayed, self.size = sizes
        self.trainable = trainable
        self.weights = self._buffer("weights")
        if drawn and self.device.keeps_data:
            initial = self._pack({name: p.initial_values() for name, p in self.parameters.items()})
            self.device.write(self.weights, initial.tobytes())
        for name, parameter in self.parameters.items():
            parameter.requires_grad = trainable
            gradient = self._range(self.gradients, name) if trainable else None
            parameter.place(self._range(self.weights, name), gradient)

    @cached_property
    def gradients(self) -> Region:
        """d(loss)/d(weights), laid out as the weights. Backward passes only ever add to it."""
        return self._buffer("gradients")

    @cached_property
    def first_moment(self) -> Region:
        """AdamW's running mean of the gradients, laid out as the weights."""
        return self._buffer("first moment")

    @cached_property
    def second_moment(self) -> Region:
        """AdamW's running mean of the squared gradients, laid out as the weights."""
        return self._buffer("second moment")

    @property
    def parameter_count(self) -> int:
        """The number of trained numbers, gaps not counted."""
        return sum(parameter.size for parameter in self.parameters.values())

    def clear_gradients(self) -> None:
        """Sets every gradient to 0: one clear, at the start of a step."""
        self.device.clear(self.gradients)

    def join(self, parameters: Sequence[Parameter]) -> Tensor | None:
        """Neighbours as one leaf, stacked on axis 0; None if gaps lie between them."""
        ends = [self.offsets[p.name] + p.size for p in parameters]
        starts = [self.offsets[p.name] for p in parameters]
        if ends[:-1] != starts[1:]:
            return None
        rows = sum(parameter.shape[0] for parameter in parameters)
        return leaf_view(parameters, (rows, *parameters[0].shape[1:]))

    async def read(self, region: Region) -> State:
        """One of the arena's buffers (weights, gradients, a moment) as arrays by name."""
        flat = np.frombuffer(await self.device.read(region), np.float32)
        return {name: flat[self.offsets[name]:self.offsets[name] + p.size].reshape(p.shape).copy()
                for name, p in self.parameters.items()}

    def write(self, region: Region, state: Mapping[str, NDArray[np.float32]]) -> None:
        """Fills one of the arena's buffers from arrays by name.

        Raises:
            CheckpointError: a name is missing or unknown, or a shape differs.
        """
        self.device.write(region, self._pack(state).tobytes())

    def _pack(self, state: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        names = set(self.parameters)
        if set(state) != names:
            raise CheckpointError(
                "The names of the tensors are not those of the model.",
                expected=f"also {sorted(names - set(state))}" if names - set(state) else None,
                received=f"unknown {sorted(set(state) - names)}" if set(state) - names else None)
        flat = np.zeros(self.size, np.float32)
        for name, parameter in self.parameters.items():
            if tuple(state[name].shape) != parameter.shape:
                raise CheckpointError(f"{name} has the wrong shape.",
                                      expected=str(parameter.shape),
                                      received=str(tuple(state[name].shape)))
            offset = self.offsets[name]
            flat[offset:offset + parameter.size] = state[name].reshape(-1)
        return flat

    def _buffer(self, label: str) -> Region:
        size = self.size * ITEM_BYTES
        return Region(self.device.allocate(size, label), 0, size)

    def _range(self, buffer: Region, name: str) -> Region:
        return Region(buffer.storage, self.offsets[name] * ITEM_BYTES,
                      self.parameters[name].size * ITEM_BYTES)


def _groups(module: Module, parameters: list[Parameter]) -> list[list[Parameter]]:
    """Parameters in order, those of a Joined together at the place of its first."""
    joined = {id(group.parameters[0]): list(group.parameters) for group in module.joined()}
    followers = {id(p) for group in joined.values() for p in group[1:]}
    groups = [joined.get(id(p), [p]) for p in parameters if id(p) not in followers]
    for group in groups:
        if len({parameter.decay for parameter in group}) != 1:
            raise ShapeError("Joined parameters share their weight decay.",
                             received=", ".join(p.name for p in group))
    return groups


def _layout(groups: list[list[Parameter]]) -> tuple[dict[str, int], tuple[int, int]]:
    """The first element of each parameter, the elements of the decayed part, and of all."""
    offsets: dict[str, int] = {}
    end = 0
    parts = []
    for decay in (True, False):
        for group in groups:
            if group[0].decay is decay:
                for parameter in group:
                    offsets[parameter.name] = end
                    end += parameter.size
                end = _aligned(end)
        parts.append(end)
    return offsets, (parts[0], parts[1])


def _aligned(elements: int) -> int:
    step = ALIGNMENT // ITEM_BYTES
    return -(-elements // step) * step
