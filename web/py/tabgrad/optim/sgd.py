"""Stochastic gradient descent with momentum over a parameter arena: three dispatches."""

from __future__ import annotations

import math
from typing import ClassVar

from tabgrad.gpu.storage import Region
from tabgrad.nn.arena import ParameterArena
from tabgrad.optim.optimizer import Optimizer, check_range


class SGD(Optimizer):
    """Steps along a running sum of the gradients: torch.optim.SGD with clipping.

    g = factor * gradient + weight_decay * w
    m = momentum m + g
    w = w - rate * (g + momentum m  if nesterov else  m)

    Args:
        arena: the parameters; decay applies to its matrices and embeddings only.
        learning_rate: the rate of a step that gives none.
        momentum: memory of the running sum; 0 is plain descent.
        nesterov: whether to step along the sum as it will be after the next gradient.
        weight_decay: added to the gradient, times the weight: it passes through the momentum.
        max_grad_norm: gradients of a larger norm are scaled down to it; 0 never clips.

    Raises:
        SettingsError: a setting out of its range; names the field.

    Source: Sutskever et al., "On the importance of initialization and momentum in deep learning",
    ICML 2013, in PyTorch's form.
    """

    name: ClassVar[str] = "sgd"

    def __init__(self, arena: ParameterArena, learning_rate: float = 1e-3, momentum: float = 0.0,
                 nesterov: bool = False, weight_decay: float = 0.0,
                 max_grad_norm: float = 0.0) -> None:
        super().__init__(arena, learning_rate, max_grad_norm)
        check_range("momentum", momentum, 1.0)
        check_range("weight_decay", weight_decay, math.inf)
        self.momentum = momentum
        self.nesterov = nesterov
        self.weight_decay = weight_decay
        self._first = arena.first_moment

    def _record_rule(self, scalars: Region) -> None:
        arena = self.arena
        sizes = {"COUNT": arena.size, "DECAYED": arena.decayed, "MOMENTUM": self.momentum,
                 "NESTEROV": int(self.nesterov), "WEIGHT_DECAY": self.weight_decay}
        arena.device.launch("sgd", sizes, weights=arena.weights, first=self._first,
                            gradients=arena.gradients, norm=self.norm, halted=self.halted,
                            scalars=scalars)
