"""Runs kernels on this adapter against their oracles: a wrong kernel writes fluent nonsense.

Inputs are random but always the same, made from the headers; outputs start as NaN, so that an
element that a kernel forgets is found.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabgrad.errors import KernelError
from tabgrad.gpu.device import Device
from tabgrad.gpu.headers import STORED, Binding
from tabgrad.gpu.kernels import NUMPY_DTYPES, Kernel, kernel_names, load_kernel
from tabgrad.gpu.recorder import label_of
from tabgrad.gpu.storage import Region
from tabgrad.platform.gpu_protocol import Program
from tabgrad.reference.stored import rounded

Array = np.ndarray[Any, np.dtype[Any]]
Values = Mapping[str, int | float]
Progress = Callable[[int, int], None]
UNWRITTEN = 0x7FC0BAD1  # a NaN as f32, and no likely number as u32


@dataclass(frozen=True)
class Result:
    """One check of one kernel.

    Attributes:
        kernel: its name.
        sizes: as in the header's check line.
        error: the largest |received - expected|; infinite where a number is missing.
        passed: whether every element is within the header's tolerance.
        problem: what the GPU said when it refused the kernel, else None.
    """

    kernel: str
    sizes: dict[str, int | float]
    error: float
    passed: bool
    problem: str | None = None


def random_inputs(kernel: Kernel, values: Values, seed: int | None = None) -> dict[str, Array]:
    """Random inputs of a kernel, as its header bounds them.

    Args:
        kernel: with bindings that may say `< BOUND`, `sorted`, `positive` or `within LOW HIGH`.
        values: sizes and consts.
        seed: by default made from kernel and sizes, so equal checks have equal inputs.

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
    arrays = {binding.name: _random(generator, binding, shapes[binding.name], values)
              for binding in kernel.bindings if binding.is_input}
    return {binding.name: rounded(arrays[binding.name], dtype) if binding.dtype == STORED
            else arrays[binding.name] for binding in kernel.bindings if binding.is_input}


def _random(generator: np.random.Generator, binding: Binding, shape: tuple[int, ...],
            values: Values) -> Array:
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
    return generator.standard_normal(shape).astype(dtype)


async def check_kernels(device: Device, names: Sequence[str] | None = None,
                        progress: Progress | None = None) -> list[Result]:
    """Runs every check of the named kernels (of all of them by default).

    Kernels that need a feature which this adapter lacks are left out.

    Args:
        device: where to run.
        names: of kernels.
        progress: called with (kernels done, kernels).
    """
    kernels = [kernel for kernel in map(load_kernel, names or kernel_names())
               if set(kernel.needs) <= device.info.features]
    return await _run(device, [(kernel, kernel.checks) for kernel in kernels], progress)


async def check_programs(device: Device, programs: Iterable[Program],
                         progress: Progress | None = None) -> list[Result]:
    """Runs each kernel among the programs once for each set of consts it was composed with.

    The code is then the very code that a model runs; the sizes are the largest of the header's
    checks, because an oracle at a model's sizes would take longer than the model.

    Args:
        device: where to run.
        programs: of a plan; equal ones may come up again.
        progress: called with (kernels done, kernels).
    """
    planned: dict[str, dict[str, Values]] = {}
    for program in programs:
        largest = max(load_kernel(program.name).checks, key=_extent)
        values = {**largest, **program.consts}
        planned.setdefault(program.name, {})[label_of(program.name, values)] = values
    return await _run(device, [(load_kernel(name), tuple(checks.values()))
                               for name, checks in planned.items()], progress)


def _extent(values: Values) -> float:
    return math.prod(value for value in values.values() if value >= 1)


Planned = Sequence[tuple[Kernel, Sequence[Values]]]


async def _run(device: Device, planned: Planned, progress: Progress | None) -> list[Result]:
    try:
        pending = [(kernel, _launch(device, kernel, checks)) for kernel, checks in planned]
        # One flush: the browser compiles all pipelines in parallel.
        await device.flush()
    except KernelError:
        return await _one_by_one(device, planned, progress)
    results: list[Result] = []
    for done, (kernel, launched) in enumerate(pending, 1):
        results += [await _compare(device, kernel, *check) for check in launched]
        if progress is not None:
            progress(done, len(planned))
    return results


async def _one_by_one(device: Device, planned: Planned,
                      progress: Progress | None) -> list[Result]:
    """After something was refused: finds out which kernels it was."""
    results: list[Result] = []
    for done, (kernel, checks) in enumerate(planned, 1):
        try:
            launched = _launch(device, kernel, checks)
            await device.flush()
            results += [await _compare(device, kernel, *check) for check in launched]
        except KernelError as error:
            results += [Result(kernel.name, dict(values), float("inf"), False, str(error))
                        for values in checks]
        if progress is not None:
            progress(done, len(planned))
    return results


Check = tuple[Values, dict[str, Array], dict[str, Region]]


def _launch(device: Device, kernel: Kernel, planned: Sequence[Values]) -> list[Check]:
    checks: list[Check] = []
    for values in planned:
        inputs = random_inputs(kernel, values)
        shapes = kernel.shapes(values)
        regions = {}
        for binding in kernel.bindings:
            array = inputs.get(binding.name)
            if array is None:
                array = np.full(shapes[binding.name], UNWRITTEN, np.uint32)
            data = kernel.encode(binding.name, array, values)
            regions[binding.name] = device.allocate(len(data), binding.name).region
            device.write(regions[binding.name], data)
        sizes, consts = kernel.split(values)
        device.launch(kernel.name, sizes, consts, 0, **regions)
        checks.append((values, inputs, regions))
    return checks


async def _compare(device: Device, kernel: Kernel, values: Values, inputs: dict[str, Array],
                   regions: dict[str, Region]) -> Result:
    expected = kernel.reference(inputs, values)
    worst, passed = 0.0, True
    for name, array in expected.items():
        received = np.frombuffer(await device.read(regions[name]), array.dtype)
        error = np.abs(received.astype(np.float64) - array.ravel().astype(np.float64))
        error[~np.isfinite(error)] = np.inf
        allowed = kernel.oracle.atol + kernel.oracle.rtol * np.abs(array.ravel())
        worst = max(worst, float(error.max()))
        passed = passed and bool((error <= allowed).all())
    return Result(kernel.name, dict(values), worst, passed)
