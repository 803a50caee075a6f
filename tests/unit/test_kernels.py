"""Every kernel against its oracle, on the sizes of its header and several sets of inputs."""

from __future__ import annotations

import numpy as np
import pytest

from tabgrad.gpu.cases import random_inputs
from tabgrad.gpu.device import Device
from tabgrad.gpu.kernels import NUMPY_DTYPES, Kernel, kernel_names, load_kernel
from tabgrad.gpu.storage import Region
from tests.helpers import run

SEEDS = range(3)  # the conformance run has one set of inputs; these are others
UNTOUCHED = 12345.0  # what outputs hold before: an element that nobody writes shows

CASES = [pytest.param(name, i, id=f"{name}-{i}")
         for name in kernel_names() for i in range(len(load_kernel(name).checks))]


def run_kernel(device: Device, kernel: Kernel, values: dict[str, int | float],
               arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs, computed by the device."""
    regions = {}
    shapes = kernel.shapes(values)
    for binding in kernel.bindings:
        untouched = np.full(shapes[binding.name], UNTOUCHED, NUMPY_DTYPES[binding.dtype])
        data = kernel.encode(binding.name, arrays.get(binding.name, untouched), values)
        regions[binding.name] = Region(device.allocate(len(data), binding.name), 0, len(data))
        device.write(regions[binding.name], data)
    device.launch(kernel.name, *kernel.split(values), **regions)
    return {binding.name: np.frombuffer(run(device.read(regions[binding.name])),
                                        NUMPY_DTYPES[binding.dtype])
            .reshape(shapes[binding.name])
            for binding in kernel.bindings if binding.is_output}


def error_of(received: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    """The largest error, and the largest expected number; NaN is an endless error."""
    difference = np.abs(received.astype(np.float64) - expected.astype(np.float64))
    error = np.inf if np.isnan(difference).any() else float(difference.max())
    return error, float(np.abs(expected.astype(np.float64)).max())


@pytest.mark.parametrize(("name", "check"), CASES)
def test_kernel_equals_its_oracle(device: Device, name: str, check: int) -> None:
    kernel = load_kernel(name)
    assert set(kernel.needs) <= device.info.features, "the tests' adapter runs every kernel"
    for seed in SEEDS:
        compare(device, kernel, kernel.checks[check], seed)


def compare(device: Device, kernel: Kernel, values: dict[str, int | float], seed: int) -> None:
    arrays = random_inputs(kernel, values, seed)
    expected = kernel.reference(arrays, values)
    received = run_kernel(device, kernel, values, arrays)
    for binding, array in expected.items():
        if array.dtype.kind != "f":
            np.testing.assert_array_equal(received[binding], array, err_msg=binding)
            continue
        error, largest = error_of(received[binding], array)
        allowed = kernel.oracle.atol + kernel.oracle.rtol * largest
        assert error <= allowed, f"{binding}: error {error:.2e}, allowed {allowed:.2e}"


@pytest.mark.parametrize("name", kernel_names())
def test_kernel_gives_the_same_bits_twice(device: Device, name: str) -> None:
    kernel = load_kernel(name)
    values = kernel.checks[-1]
    arrays = random_inputs(kernel, values)
    first = run_kernel(device, kernel, values, arrays)
    second = run_kernel(device, kernel, values, arrays)
    for binding, array in first.items():
        assert array.tobytes() == second[binding].tobytes(), binding


def test_an_error_is_seen() -> None:
    expected = np.array([1.0, -4.0], np.float32)
    assert error_of(np.array([1.0, -4.5], np.float32), expected) == (0.5, 4.0)
    assert error_of(np.array([np.nan, -4.0], np.float32), expected)[0] == np.inf
