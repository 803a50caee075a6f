"""Parameter: a leaf tensor that training changes; Joined: several of them seen as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import ShapeError
from tabgrad.gpu.device import current_device
from tabgrad.gpu.storage import Region
from tabgrad.nn.low_rank import LowRank
from tabgrad.reference.stored import FORMATS, byte_count
from tabgrad.tensor import Tensor, element_count


class Parameter(Tensor):
    """A leaf with initial values: float32, unless it was placed in 16 bits.

    Args:
        values: the initial values.
        decay: whether weight decay applies: to matrices and embeddings, not to biases and gains.

    The values go to the GPU at the first use, or when a ParameterArena takes the parameter in.
    `name` is set by the arena: the path of attributes from the module that it was made for.
    """

    def __init__(self, values: NDArray[np.float32], decay: bool) -> None:
        kept = np.ascontiguousarray(values, np.float32)
        self._start(values.shape, decay, lambda: kept)

    @classmethod
    def lazy(cls, shape: Sequence[int], decay: bool,
             draw: Callable[[], NDArray[np.float32]]) -> Parameter:
        """A parameter whose initial values are made only if somebody asks for them.

        A model that is loaded places its weights and never draws any.

        Args:
            shape: of the values.
            decay: as above.
            draw: gives the initial values; each call gives the same.

        Example:
            >>> Parameter.lazy((2,), False, lambda: np.ones(2, np.float32)).initial_values()
            array([1., 1.], dtype=float32)
        """
        parameter = cls.__new__(cls)
        parameter._start(shape, decay, draw)
        return parameter

    @classmethod
    def constant(cls, width: int, value: float) -> Parameter:
        """A gain or a bias, (width): it starts at `value`, and no weight decay applies.

        Example:
            >>> Parameter.constant(3, 1.0).initial_values()
            array([1., 1., 1.], dtype=float32)
        """
        return cls.lazy((width,), False, lambda: np.full(width, value, np.float32))

    def _start(self, shape: Sequence[int], decay: bool,
               draw: Callable[[], NDArray[np.float32]]) -> None:
        self.shape = tuple(int(axis) for axis in shape)
        self.dtype = "float32"
        self.requires_grad = True
        self.grad = None
        self.record = None
        self.name = ""
        self.decay = decay
        self._draw: Callable[[], NDArray[np.float32]] | None = draw
        self._place: Region | None = None

    @property
    def region(self) -> Region:
        """The bytes on the GPU."""
        if self._place is None:
            data = self.initial_values().tobytes()
            place = Region(current_device().allocate(len(data), "parameter"), 0, len(data))
            current_device().write(place, data)
            self.place(place, None)
            return place
        return self._place

    def place(self, region: Region, gradient: Region | None, dtype: str = "float32") -> None:
        """Moves the parameter to a range that holds its values, or will when it is first used.

        Args:
            region: the bytes of the values.
            gradient: the bytes of the gradient, which every backward adds to; None leaves it
                to the first backward to make one.
            dtype: how the values lie there. In 16 bits they are fixed: no gradient reaches them.

        Raises:
            ShapeError: another dtype, bytes that are too many or too few, or a gradient for
                values in 16 bits.
        """
        if dtype not in FORMATS or region.size != byte_count(self.size, dtype):
            raise ShapeError(f"{self.name or 'A parameter'} does not fit its place.",
                             expected=f"{self.shape} in {', '.join(FORMATS)}",
                             received=f"{region.size} bytes of {dtype}")
        if dtype != "float32":
            if gradient is not None:
                raise ShapeError("Weights in 16 bits have no gradient.", expected="float32",
                                 received=f"{dtype} {self.name}")
            self.requires_grad = False
        self.dtype = dtype
        self._place = region
        self._draw = None
        if gradient is not None:
            self.grad = Tensor(self.shape, self.dtype, gradient)

    def initial_values(self) -> NDArray[np.float32]:
        """The values before training.

        Raises:
            ShapeError: they have gone to the GPU already; an arena comes before the first use.
        """
        if self._draw is None:
            raise ShapeError("A parameter joins one ParameterArena, before its first use.",
                             received=self.name or str(self.shape))
        return self._draw()

    def first_rows(self, count: int) -> Tensor:
        """The first `count` rows as a leaf: the same bytes, and gradients to the same bytes.

        Raises:
            ShapeError: more rows than there are, or a parameter outside an arena.
        """
        if not 1 <= count <= self.shape[0]:
            raise ShapeError(f"{self.name or 'The parameter'} has too few rows.",
                             expected=f"1 to {self.shape[0]}", received=str(count))
        return leaf_view([self], (count, *self.shape[1:]))


class Joined:
    """Parameters that lie one after the other in memory, as one tensor stacked on axis 0.

    Args:
        parameters: of equal shapes but for axis 0. Their ParameterArena puts them together.

    One product with the joined matrix of queries, keys and values is faster than three products,
    and the three keep their own names. `adapters` are added to that product; there are none until
    somebody attaches one.
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        if len({parameter.shape[1:] for parameter in parameters}) != 1:
            raise ShapeError("Only parameters of equal width can be joined.", expected="one width",
                             received=", ".join(str(p.shape) for p in parameters))
        self.parameters = tuple(parameters)
        self.adapters: list[LowRank] = []
        self._view: Tensor | None = None

    @property
    def tensor(self) -> Tensor:
        """All rows as one leaf; its gradient is theirs.

        Raises:
            ShapeError: they are not neighbours: no ParameterArena was made for their module.
        """
        if self._view is None:
            rows = sum(parameter.shape[0] for parameter in self.parameters)
            self._view = leaf_view(self.parameters, (rows, *self.parameters[0].shape[1:]))
        return self._view


def leaf_view(parameters: Sequence[Parameter], shape: tuple[int, ...]) -> Tensor:
    """A leaf of this shape over the bytes that start at the first of these parameters."""
    dtype = parameters[0].dtype
    if any(parameter.dtype != dtype for parameter in parameters):
        raise ShapeError("Parameters seen as one have one dtype.", expected=dtype,
                         received=", ".join(f"{p.name} {p.dtype}" for p in parameters))
    if dtype != "float32" and any(parameter.size % 2 for parameter in parameters[:-1]):
        raise ShapeError("In 16 bits a gap follows an odd number of weights.",
                         received=", ".join(f"{p.name} {p.shape}" for p in parameters))
    view = Tensor(shape, dtype, _span([p.region for p in parameters], shape, dtype))
    view.requires_grad = any(parameter.requires_grad for parameter in parameters)
    if view.requires_grad:
        gradients = [parameter.grad.region for parameter in parameters if parameter.grad]
        if len(gradients) != len(parameters):
            raise _not_in_arena(parameters)
        view.grad = Tensor(shape, "float32", _span(gradients, shape, "float32"))
    return view


def _span(regions: Sequence[Region], shape: tuple[int, ...], dtype: str) -> Region:
    for left, right in zip(regions, regions[1:], strict=False):
        if left.storage is not right.storage or left.offset + left.size != right.offset:
            raise ShapeError("The parameters are not neighbours in memory.",
                             remedy="Make a ParameterArena for their module first.")
    return replace(regions[0], size=byte_count(element_count(shape), dtype))


def _not_in_arena(parameters: Sequence[Parameter]) -> ShapeError:
    return ShapeError("A view of parameters needs one place for their gradients.",
                      received=", ".join(p.name or "a parameter without arena" for p in parameters),
                      remedy="Make a ParameterArena for their module first.")
