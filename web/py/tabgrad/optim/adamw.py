"""AdamW over a parameter arena: three dispatches, however many parameters there are."""

from __future__ import annotations

import math

import numpy as np

from tabgrad.errors import SettingsError
from tabgrad.gpu.adapter_class import lanes_of_a_stretch
from tabgrad.gpu.storage import Region
from tabgrad.nn.arena import ParameterArena
from tabgrad.tensor import ITEM_BYTES

SCALARS = 4  # learning rate, 1 - beta1^t, sqrt(1 - beta2^t), gradient scale
STRETCH = 4096  # elements of one sum of sum_squares


class AdamW:
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

    `norm` is a Region with two float32 after each update: the norm of the gradients before
    clipping, and the factor that each was multiplied by.

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
    """

    def __init__(self, arena: ParameterArena, learning_rate: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8,
                 weight_decay: float = 0.01, max_grad_norm: float = 0.0) -> None:
        for name, value, limit in (
                ("learning_rate", learning_rate, math.inf), ("adam_beta1", betas[0], 1.0),
                ("adam_beta2", betas[1], 1.0), ("adam_epsilon", epsilon, 1.0),
                ("weight_decay", weight_decay, math.inf),
                ("max_grad_norm", max_grad_norm, math.inf)):
            if not 0 <= value < limit:
                raise SettingsError(f"{name} is out of range.", received=repr(value),
                                    expected=f"0 or more, below {limit}", control=name)
        self.arena = arena
        self.learning_rate = learning_rate
        self.betas = betas
        self.epsilon = epsilon
        self.weight_decay = weight_decay
        self.max_grad_norm = max_grad_norm
        self.steps = 0
        self.norm = self._room(2, "gradient norm")
        self._scalars = self._room(SCALARS, "AdamW scalars")
        self._first, self._second = arena.first_moment, arena.second_moment

    def scalars(self, step: int, learning_rate: float, gradient_scale: float = 1.0) -> list[float]:
        """What changes from step to step: the four float32 that `record_update` reads.

        Args:
            step: from 0.
            learning_rate: of this step.
            gradient_scale: multiplies every gradient before clipping: 1 / n after n micro-batches.
        """
        beta1, beta2 = self.betas
        return [learning_rate, 1.0 - beta1 ** (step + 1), math.sqrt(1.0 - beta2 ** (step + 1)),
                gradient_scale]

    def record_update(self, scalars: Region) -> None:
        """Records one update of all parameters from their gradients, which it leaves as they are.

        Args:
            scalars: the four float32 of `scalars(...)`, written before each replay.
        """
        arena, device = self.arena, self.arena.device
        groups = -(-arena.size // STRETCH)
        sums = device.temporary(groups * ITEM_BYTES, "sums of squares")
        device.launch("sum_squares", {"COUNT": arena.size},
                      {"LANES": lanes_of_a_stretch(device.info)}, out=sums, x=arena.gradients)
        device.launch("clip_factor", {"GROUPS": groups, "MAX_NORM": self.max_grad_norm},
                      out=self.norm, sums=sums, scalars=scalars)
        beta1, beta2 = self.betas
        sizes = {"COUNT": arena.size, "DECAYED": arena.decayed, "BETA1": beta1, "BETA2": beta2,
                 "GAIN1": 1.0 - beta1, "GAIN2": 1.0 - beta2, "EPSILON": self.epsilon,
                 "WEIGHT_DECAY": self.weight_decay}
        device.launch("adamw", sizes, weights=arena.weights, first=self._first,
                      second=self._second, gradients=arena.gradients, norm=self.norm,
                      scalars=scalars)

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

    def _room(self, count: int, label: str) -> Region:
        size = count * ITEM_BYTES
        return Region(self.arena.device.allocate(size, label), 0, size)
