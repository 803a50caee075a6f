"""Runs kernels on this adapter against their oracles: a wrong kernel writes fluent nonsense.

Inputs are random but always the same, made from the headers; outputs start as NaN, so that an
element that a kernel forgets is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tabgrad.errors import KernelError
from tabgrad.gpu.cases import Array, Case, case_of, check_of, random_inputs
from tabgrad.gpu.device import Device
from tabgrad.gpu.kernels import Kernel, kernel_names, load_kernel
from tabgrad.gpu.plan import Plan
from tabgrad.gpu.storage import Region
from tabgrad.platform.gpu_protocol import Program

Progress = Callable[[int, int], None]
UNWRITTEN = 0x7FC0BAD1  # a NaN as f32, and no likely number as u32


@dataclass(frozen=True)
class Result:
    """One check of one kernel.

    Attributes:
        kernel: its name.
        sizes: and consts that it was checked with.
        error: the largest |received - expected|; infinite where a number is missing.
        passed: whether every element is within the header's tolerance.
        problem: what the GPU said when it refused the kernel, else None.
    """

    kernel: str
    sizes: dict[str, int | float]
    error: float
    passed: bool
    problem: str | None = None


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
    return await _run(device, [(kernel, [Case(values) for values in kernel.checks])
                               for kernel in kernels], progress)


async def check_programs(device: Device, programs: Iterable[Program],
                         progress: Progress | None = None, *,
                         planned: bool = False) -> list[Result]:
    """Runs each kernel among the programs once for each set of consts it was composed with.

    The code is then the very code that a model runs; the sizes are those of the header's nearest
    check, because an oracle at a model's sizes would take longer than the model.

    Args:
        device: where to run.
        programs: of a plan; equal ones may come up again.
        progress: called with (kernels done, kernels), at the beginning too.
        planned: a plan is going to launch them, so that their own pipelines cost nothing more:
            those that compile slowly are checked at sizes of the plan, see `case_of`.
    """
    equal: dict[str, dict[str, list[Program]]] = {}
    for program in programs:
        equal.setdefault(program.name, {}).setdefault(program.code, []).append(program)
    return await _run(device, [
        (kernel, [case_of(kernel, same) if planned else Case(check_of(kernel, same[0].consts))
                  for same in codes.values()])
        for kernel, codes in ((load_kernel(name), codes) for name, codes in equal.items())
    ], progress)


Planned = Sequence[tuple[Kernel, Sequence[Case]]]
Check = tuple[Case, dict[str, Array], dict[str, Region]]
Recorded = list[tuple[Kernel, list[Check]]]
TOGETHER = 8
"""Kernels that are compiled at a time: the browser compiles them in parallel."""


async def _run(device: Device, planned: Planned, progress: Progress | None) -> list[Result]:
    results: list[Result] = []
    if progress is not None:
        progress(0, len(planned))
    for start in range(0, len(planned), TOGETHER):
        part = planned[start:start + TOGETHER]
        try:
            plan, recorded = await _plan(device, part)
        except KernelError:
            results += await _one_by_one(device, part)
        else:
            results += await _results(device, plan, recorded)
        for done in range(start + 1, start + len(part) + 1):
            if progress is not None:
                progress(done, len(planned))
    return results


async def _one_by_one(device: Device, planned: Planned) -> list[Result]:
    """After something was refused: finds out which kernels it was."""
    results: list[Result] = []
    for kernel, checks in planned:
        try:
            results += await _results(device, *await _plan(device, [(kernel, checks)]))
        except KernelError as error:
            results += [Result(kernel.name, dict(case.values), float("inf"), False, str(error))
                        for case in checks]
    return results


async def _plan(device: Device, planned: Planned) -> tuple[Plan, Recorded]:
    """A plan of its own: launches that wait for a flush would stop a training that goes on."""
    ready = [(kernel, [_inputs(device, kernel, case) for case in checks])
             for kernel, checks in planned]
    with device.recording() as recording:
        for kernel, checks in ready:
            for case, _, regions in checks:
                sizes, consts = kernel.split(case.values)
                device.launch(kernel.name, sizes, consts, 0, **regions)
    try:
        # Not `recording.compile`: a device that tests its plans would test this one.
        return await device.compile_tape(recording.tape, (), "self-test", None), ready
    except BaseException:
        recording.tape.let_go()
        raise


async def _results(device: Device, plan: Plan, recorded: Recorded) -> list[Result]:
    try:
        await device.flush()  # of others, whose launches may have come since the plan was made
        await device.replay([plan])
        return [await _compare(device, kernel, *check)
                for kernel, checks in recorded for check in checks]
    finally:
        plan.release()


def _inputs(device: Device, kernel: Kernel, case: Case) -> Check:
    """Buffers with a check's inputs, and with NaN for its outputs."""
    inputs = random_inputs(kernel, case.values, exact=case.exact)
    shapes = kernel.shapes(case.values)
    regions = {}
    for binding in kernel.bindings:
        array = inputs.get(binding.name)
        if array is None:
            array = np.full(shapes[binding.name], UNWRITTEN, np.uint32)
        data = kernel.encode(binding.name, array, case.values)
        regions[binding.name] = device.allocate(len(data), binding.name).region
        device.write(regions[binding.name], data)
    return case, inputs, regions


async def _compare(device: Device, kernel: Kernel, case: Case, inputs: dict[str, Array],
                   regions: dict[str, Region]) -> Result:
    expected = kernel.reference(inputs, case.values)
    worst, passed = 0.0, True
    for name, array in expected.items():
        received = np.frombuffer(await device.read(regions[name]), array.dtype)
        error = np.abs(received.astype(np.float64) - array.ravel().astype(np.float64))
        error[~np.isfinite(error)] = np.inf
        allowed = kernel.oracle.atol + kernel.oracle.rtol * np.abs(array.ravel())
        worst = max(worst, float(error.max()))
        passed = passed and bool((error <= allowed).all())
    return Result(kernel.name, dict(case.values), worst, passed)
