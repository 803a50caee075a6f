"""Lion over a parameter arena: three dispatches, and one moment instead of AdamW's two."""

from __future__ import annotations

import math
from typing import ClassVar

from tabgrad.gpu.storage import Region
from tabgrad.nn.arena import ParameterArena
from tabgrad.optim.optimizer import Optimizer, check_range


class Lion(Optimizer):
    """Every weight moves by the learning rate, in the direction of a sign.

    g = factor * gradient
    w = w (1 - rate * decay) - rate * sign(beta1 m + (1 - beta1) g)
    m = beta2 m + (1 - beta2) g

    Args:
        arena: the parameters; decay applies to its matrices and embeddings only.
        learning_rate: the rate of a step that gives none; a third to a tenth of AdamW's.
        betas: the memory in the direction, and of the moment.
        weight_decay: the part of a weight that decays in a step of rate 1.
        max_grad_norm: gradients of a larger norm are scaled down to it; 0 never clips.

    Raises:
        SettingsError: a setting out of its range; names the field.

    Source: Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023,
    algorithm 2.
    """

    name: ClassVar[str] = "lion"

    def __init__(self, arena: ParameterArena, learning_rate: float = 1e-4,
                 betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0,
                 max_grad_norm: float = 0.0) -> None:
        super().__init__(arena, learning_rate, max_grad_norm)
        check_range("adam_beta1", betas[0], 1.0)
        check_range("adam_beta2", betas[1], 1.0)
        check_range("weight_decay", weight_decay, math.inf)
        self.betas = betas
        self.weight_decay = weight_decay
        self._first = arena.first_moment

    def _record_rule(self, scalars: Region) -> None:
        arena = self.arena
        beta1, beta2 = self.betas
        sizes = {"COUNT": arena.size, "DECAYED": arena.decayed, "BETA1": beta1, "BETA2": beta2,
                 "GAIN1": 1.0 - beta1, "GAIN2": 1.0 - beta2, "WEIGHT_DECAY": self.weight_decay}
        arena.device.launch("lion", sizes, weights=arena.weights, first=self._first,
                            gradients=arena.gradients, norm=self.norm, halted=self.halted,
                            scalars=scalars)
