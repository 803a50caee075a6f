"""AdamW over a parameter arena: three dispatches, however many parameters there are."""

from __future__ import annotations

import math
from typing import ClassVar

from tabgrad.gpu.storage import Region
from tabgrad.nn.arena import ParameterArena
from tabgrad.optim.optimizer import Optimizer, check_range
from tabgrad.tensor import ITEM_BYTES


class AdamW(Optimizer):
    """Adam with decoupled weight decay, and clipping of the gradients' norm.

    Args:
        arena: the parameters; decay applies to its matrices and embeddings only.
        learning_rate: the rate of a step that gives none.
        betas: the memory of the first and of the second moment.
        epsilon: added to the denominator.
        weight_decay: the part of a weight that decays in a step of rate 1.
        max_grad_norm: gradients of a larger norm are scaled down to it; 0 never clips.

    Raises:
        SettingsError: a setting out of its range; names the field.

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
    """

    name: ClassVar[str] = "adamw"
    buffers: ClassVar[int] = 2

    def __init__(self, arena: ParameterArena, learning_rate: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8,
                 weight_decay: float = 0.01, max_grad_norm: float = 0.0) -> None:
        super().__init__(arena, learning_rate, max_grad_norm)
        for field, value, limit in (
                ("adam_beta1", betas[0], 1.0), ("adam_beta2", betas[1], 1.0),
                ("adam_epsilon", epsilon, 1.0), ("weight_decay", weight_decay, math.inf)):
            check_range(field, value, limit)
        self.betas = betas
        self.epsilon = epsilon
        self.weight_decay = weight_decay
        self._first, self._second = arena.first_moment, arena.second_moment

    def scalars(self, step: int, learning_rate: float, gradient_scale: float = 1.0) -> list[float]:
        """Learning rate, 1 - beta1^t, sqrt(1 - beta2^t), gradient scale; t = step + 1."""
        beta1, beta2 = self.betas
        return [learning_rate, 1.0 - beta1 ** (step + 1), math.sqrt(1.0 - beta2 ** (step + 1)),
                gradient_scale]

    def moments(self) -> dict[str, tuple[Region, frozenset[str]]]:
        """Both moments of every parameter."""
        names = frozenset(self.arena.parameters)
        return {"first_moment": (self._first, names), "second_moment": (self._second, names)}

    def _record_rule(self, scalars: Region) -> None:
        self._record_adamw(scalars, 0, self.arena.size)

    def _record_adamw(self, scalars: Region, start: int, count: int) -> None:
        """The update of `count` elements of the arena from `start`, a multiple of 64, on."""
        beta1, beta2 = self.betas
        sizes = {"COUNT": count, "DECAYED": min(max(self.arena.decayed - start, 0), count),
                 "BETA1": beta1, "BETA2": beta2, "GAIN1": 1.0 - beta1, "GAIN2": 1.0 - beta2,
                 "EPSILON": self.epsilon, "WEIGHT_DECAY": self.weight_decay}
        weights, first, second, gradients = (
            region.part(start * ITEM_BYTES, count * ITEM_BYTES)
            for region in (self.arena.weights, self._first, self._second, self.arena.gradients))
        self.arena.device.launch("adamw", sizes, weights=weights, first=first, second=second,
                                 gradients=gradients, norm=self.norm, halted=self.halted,
                                 scalars=scalars)
