"""What every optimiser does alike: the norm of the gradients, clipping, and the sentinel."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tabgrad.errors import CheckpointError, SettingsError
from tabgrad.gpu.adapter_class import lanes_of_a_stretch
from tabgrad.gpu.storage import Region
from tabgrad.nn.arena import ParameterArena, State
from tabgrad.tensor import ITEM_BYTES

SCALARS = 4  # learning rate, 1 - beta1^t, sqrt(1 - beta2^t), gradient scale
STRETCH = 4096  # elements of one sum of sum_squares
MOMENTS = ("first_moment", "second_moment")


class Optimizer(ABC):
    """Moves the parameters of an arena; a subclass says how.

    Args:
        arena: the parameters.
        learning_rate: the rate of a step that gives none.
        max_grad_norm: gradients of a larger norm are scaled down to it; 0 never clips.

    Raises:
        SettingsError: a setting out of its range; names the field.

    `norm` is a Region with two float32 after each update: the norm of the gradients before
    clipping, and the factor that each was multiplied by. `halted` is one uint32. The first update
    whose gradients or losses are not all finite sets it to 1, and from then on updates change
    neither weights nor moments: plans that were sent ahead do no harm. Who wants to go on all the
    same writes a 0 there.
    """

    name: ClassVar[str]
    buffers: ClassVar[int] = 1  # as large as the weights, for moments

    def __init__(self, arena: ParameterArena, learning_rate: float, max_grad_norm: float) -> None:
        check_range("learning_rate", learning_rate, math.inf)
        check_range("max_grad_norm", max_grad_norm, math.inf)
        self.arena = arena
        self.learning_rate = learning_rate
        self.max_grad_norm = max_grad_norm
        self.steps = 0
        self.norm = self._room(2, "gradient norm")
        self.halted = self._room(1, "halted")
        self._scalars = self._room(SCALARS, "scalars of the optimiser")
        self._no_loss = self._room(1, "no loss")

    def scalars(self, step: int, learning_rate: float, gradient_scale: float = 1.0) -> list[float]:
        """What changes from step to step: the four float32 that `record_update` reads.

        Args:
            step: from 0.
            learning_rate: of this step.
            gradient_scale: multiplies every gradient before clipping: 1 / n after n micro-batches.
        """
        return [learning_rate, 1.0, 1.0, gradient_scale]

    def record_update(self, scalars: Region, losses: Region | None = None) -> None:
        """Records one update of all parameters from their gradients, which it leaves as they are.

        Args:
            scalars: the four float32 of `scalars(...)`, written before each replay.
            losses: float32, of the micro-batches; one that is not finite halts the updates.
        """
        arena, device = self.arena, self.arena.device
        watched = losses or self._no_loss
        sums = self._sum_squares(arena.gradients)
        device.launch("clip_factor", {"GROUPS": sums.size // ITEM_BYTES,
                                      "LOSSES": watched.size // ITEM_BYTES,
                                      "MAX_NORM": self.max_grad_norm},
                      out=self.norm, halted=self.halted, sums=sums, losses=watched,
                      scalars=scalars)
        self._record_rule(scalars)

    def step(self, learning_rate: float | None = None) -> None:
        """Updates the parameters at once, outside a plan."""
        rate = self.learning_rate if learning_rate is None else learning_rate
        values = np.array(self.scalars(self.steps, rate), np.float32)
        self.arena.device.write(self._scalars, values.tobytes())
        self.record_update(self._scalars)
        self.steps += 1

    def zero_grad(self) -> None:
        """Sets all gradients to 0: before each step's backward."""
        self.arena.clear_gradients()

    # --- what a checkpoint keeps ------------------------------------------------------------

    def moments(self) -> dict[str, tuple[Region, frozenset[str]]]:
        """The buffers that outlive a step: kind -> buffer, and the parameters that use it."""
        return {"first_moment": (self.arena.first_moment, frozenset(self.arena.parameters))}

    async def read_moments(self) -> dict[str, State]:
        """Both kinds of moments as arrays by name; a kind that is not used is empty."""
        state: dict[str, State] = {kind: {} for kind in MOMENTS}
        for kind, (region, names) in self.moments().items():
            arrays = await self.arena.read(region)
            state[kind] = {name: array for name, array in arrays.items() if name in names}
        return state

    def write_moments(self, state: Mapping[str, State]) -> None:
        """Takes back what `read_moments` gave.

        Raises:
            CheckpointError: moments of other parameters, as another optimiser keeps them.
        """
        moments = self.moments()
        for kind in MOMENTS:
            names = moments[kind][1] if kind in moments else frozenset()
            if set(state[kind]) != names:
                different = sorted(set(state[kind]) ^ names)
                raise CheckpointError(
                    f"The {kind.replace('_', ' ')} of this checkpoint is not one of {self.name}.",
                    expected=f"{len(names)} tensors",
                    received=f"{len(state[kind])} tensors; {different[0]} differs")
        for kind, (region, _) in moments.items():
            rest = {name: np.zeros(parameter.shape, np.float32)
                    for name, parameter in self.arena.parameters.items()
                    if name not in state[kind]}
            self.arena.write(region, {**rest, **state[kind]})

    # --- for subclasses ---------------------------------------------------------------------

    @abstractmethod
    def _record_rule(self, scalars: Region) -> None:
        """Appends what moves the weights, after norm, factor and sentinel."""

    def _sum_squares(self, x: Region) -> Region:
        """Sums of squares of the stretches of x."""
        device, count = self.arena.device, x.size // ITEM_BYTES
        sums = device.temporary(-(-count // STRETCH) * ITEM_BYTES, "sums of squares")
        device.launch("sum_squares", {"COUNT": count},
                      {"LANES": lanes_of_a_stretch(device.info)}, out=sums, x=x)
        return sums

    def _room(self, count: int, label: str) -> Region:
        size = count * ITEM_BYTES
        return Region(self.arena.device.allocate(size, label), 0, size)


def check_range(name: str, value: float, limit: float) -> None:
    """Raises SettingsError, naming the field, unless 0 <= value < limit.

    Example:
        >>> check_range("momentum", 0.9, 1.0)
    """
    if not 0 <= value < limit:
        raise SettingsError(f"{name} is out of range.", received=repr(value),
                            expected=f"0 or more, below {limit}", control=name)
