"""Initial values of parameters: a pure function of a seed, the same natively and in the tab."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tabgrad.reference.philox import normal

FIRST_STREAM = 2**48  # far from the streams that batches and samples of the same seed count up


class Initializer:
    """Draws initial values: each parameter from its own stream of the seed.

    Args:
        seed: 0 <= seed < 2**64.

    Example:
        >>> Initializer(seed=1).normal((2, 3), std=0.02).shape
        (2, 3)
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.drawn = 0

    def normal(self, shape: Sequence[int], std: float) -> NDArray[np.float32]:
        """Values of N(0, std²), float32 of this shape."""
        return self.later(shape, std)()

    def later(self, shape: Sequence[int], std: float) -> Callable[[], NDArray[np.float32]]:
        """What `normal` would give now, drawn when the result is called."""
        stream = FIRST_STREAM + self.drawn
        self.drawn += 1

        def draw() -> NDArray[np.float32]:
            draws = normal(self.seed, stream, math.prod(shape))
            return (draws * np.float32(std)).reshape(shape)

        return draw


_default = Initializer(0)


def manual_seed(seed: int) -> None:
    """Starts the values of layers that are made without an Initializer anew from this seed."""
    global _default
    _default = Initializer(seed)


def default_initializer() -> Initializer:
    """Where layers made without an Initializer draw from."""
    return _default
