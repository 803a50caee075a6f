"""What a kernel is checked with: which sizes and consts, and which numbers.

A pipeline that is compiled for a check alone costs as much as one of a model's: where a CPU plays
GPU up to three seconds for some kernels. Those are checked with a pipeline of the plan itself.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabgrad.gpu.headers import STORED, Binding, Number
from tabgrad.gpu.kernels import NUMPY_DTYPES, STORED_CONST, Kernel
from tabgrad.gpu.recorder import label_of
from tabgrad.platform.gpu_protocol import Program
from tabgrad.reference.stored import rounded

Array = np.ndarray[Any, np.dtype[Any]]
Values = Mapping[str, int | float]
PRODUCTS = "matmul"
DEAR = (PRODUCTS, "attention_lanes", "sample_search")
"""Files of `wgsl/lib`: SwiftShader takes 1 to 3 s to compile a kernel that uses one of them, and
0.01 to 0.3 s for any other."""
MOST_WORK = 2**24
"""Multiplications that the oracle of a product does for one check: 0.1 s in Pyodide."""
MOST_NUMBERS = 2**21
"""Numbers of one array of a check: 16 MiB while they are drawn."""
QUARTERS = 4


@dataclass(frozen=True)
class Case:
    """One check of a kernel.

    Attributes:
        values: sizes and consts.
        exact: whether random numbers are quarters from -1 to 1. Their products are sixteenths, so
            sums of up to 2^20 of them have no rounding, in whatever order they are taken, and
            the header's tolerance holds however long they are.
    """

    values: Values
    exact: bool = False


def case_of(kernel: Kernel, programs: Iterable[Program]) -> Case:
    """How to check programs of equal code that a plan is going to launch.

    Dear ones at the least sizes among theirs, if an oracle can do it there; all others at those of
    the header, which reach more of a kernel's edges.

    Args:
        kernel: that all of them are.
        programs: at least one.
    """
    least = min(programs, key=lambda program: _extent(program.constants))
    own = {size.name: least.constants[size.name] if size.dtype == "f32"
           else int(least.constants[size.name]) for size in kernel.sizes} | least.consts
    numbers = max(map(math.prod, kernel.shapes(own).values()))
    product = PRODUCTS in kernel.uses
    affordable = numbers <= MOST_NUMBERS and not (product and _work(own) > MOST_WORK)
    if affordable and any(name in kernel.uses for name in DEAR):
        return Case(own, exact=product)
    return Case(check_of(kernel, least.consts))


def _work(values: Values) -> float:
    """Multiplications of a product, whether its sums run over K or over tiles of positions."""
    return math.prod(values.get(name, 1) for name in ("M", "N", "K", "TILES", "T"))


def check_of(kernel: Kernel, consts: Values) -> Values:
    """The header's check with the most consts equal to these, and these in it.

    How weights are stored decides first, because it asks for sizes of whole loads. Of several the
    largest, which reaches the most of a kernel's edges.

    Example:
        >>> from tabgrad.gpu.kernels import load_kernel
        >>> check_of(load_kernel("argmax"), {"LANES": 4})
        {'R': 67, 'C': 31, 'LANES': 4}
    """
    wanted = {const.name: consts.get(const.name, const.default) for const in kernel.consts}

    def nearness(check: dict[str, Number]) -> tuple[bool, int, float]:
        stored = check.get(STORED_CONST, 0), wanted.get(STORED_CONST, 0)
        equal = sum(check.get(const.name, const.default) == wanted[const.name]
                    for const in kernel.consts)
        return bool(stored[0]) == bool(stored[1]), equal, _extent(check)

    nearest = max(kernel.checks, key=nearness)
    return {**nearest, **consts}


def _extent(values: Values) -> float:
    return math.prod(value for value in values.values() if value >= 1)


def random_inputs(kernel: Kernel, values: Values, seed: int | None = None,
                  exact: bool = False) -> dict[str, Array]:
    """Random inputs of a kernel, as its header bounds them.

    Args:
        kernel: with bindings that may say `< BOUND`, `sorted`, `positive` or `within LOW HIGH`.
        values: sizes and consts.
        seed: by default made from kernel and sizes, so equal checks have equal inputs.
        exact: see `Case`.

    Returns:
        An array for each input (accumulated outputs too), shaped as the header says; those of
        stored bindings are numbers of their format, in float32.
    """
    if seed is None:
        seed = zlib.crc32(label_of(kernel.name, values).encode())
    generator = np.random.default_rng(seed)
    shapes = kernel.shapes(values)
    dtype = kernel.stored_dtype(values)
    values = {const.name: const.default for const in kernel.consts} | dict(values)
    arrays = {binding.name: _random(generator, binding, shapes[binding.name], values, exact)
              for binding in kernel.bindings if binding.is_input}
    return {binding.name: rounded(arrays[binding.name], dtype) if binding.dtype == STORED
            else arrays[binding.name] for binding in kernel.bindings if binding.is_input}


def _random(generator: np.random.Generator, binding: Binding, shape: tuple[int, ...],
            values: Values, exact: bool) -> Array:
    dtype = NUMPY_DTYPES[binding.dtype]
    if binding.bound is not None or binding.dtype not in ("f32", STORED):
        stop = 2**32 if binding.dtype == "u32" else 2**31
        if binding.bound is not None:
            stop = binding.bound.evaluate(values)
        start = 1 if binding.positive else 0
        numbers = generator.integers(start, stop, shape).astype(dtype)
        return np.sort(numbers, axis=-1) if binding.sorted else numbers
    if binding.within is not None or binding.positive:
        return generator.uniform(*(binding.within or (0.25, 2.0)), shape).astype(dtype)
    if exact:
        return (generator.integers(-QUARTERS, QUARTERS + 1, shape) / QUARTERS).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)
