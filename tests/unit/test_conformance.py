"""The conformance run itself: it finds what it is there to find."""

from __future__ import annotations

import numpy as np
import pytest

from tabgrad.app.selftest import needed_programs
from tabgrad.gpu import conformance
from tabgrad.gpu.cases import random_inputs
from tabgrad.gpu.conformance import check_kernels, check_programs
from tabgrad.gpu.device import Device
from tabgrad.gpu.kernels import kernel_names, load_kernel, parse_kernel
from tabgrad.models.recipe import PRESETS
from tests.helpers import run

SCALE = load_kernel("scale")


@pytest.mark.parametrize("name", kernel_names())
def test_kernel_equals_its_oracle(device: Device, name: str) -> None:
    results = run(check_kernels(device, [name]))
    assert len(results) == len(load_kernel(name).checks)
    failed = [result for result in results if not result.passed]
    assert failed == []


def test_progress_counts_kernels(device: Device) -> None:
    seen: list[tuple[int, int]] = []
    run(check_kernels(device, ["scale", "fill"], lambda done, total: seen.append((done, total))))
    assert seen == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.parametrize("right, wrong", [
    ("FACTOR * x[i]", "FACTOR * x[i] * 1.0001"),
    ("i >= COUNT", "i + 1u >= COUNT"),
])
def test_a_wrong_kernel_fails(device: Device, monkeypatch: pytest.MonkeyPatch,
                              right: str, wrong: str) -> None:
    assert right in SCALE.source
    # Another name, because the device keeps the pipelines of those that it knows.
    name = f"scale_wrong_{len(wrong)}"
    broken = parse_kernel(SCALE.source.replace(right, wrong).replace("fn scale(", f"fn {name}("),
                          f"{name}.wgsl")
    for module in ("tabgrad.gpu.conformance", "tabgrad.gpu.recorder"):
        monkeypatch.setattr(f"{module}.load_kernel", lambda _: broken)
    results = run(check_kernels(device, [name]))
    assert not any(result.passed for result in results)


def test_a_kernel_that_does_not_compile_is_named(device: Device,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    name = "scale_without_sense"
    source = SCALE.source.replace("fn scale(", f"fn {name}(").replace("FACTOR * x", "FACTOR * y")
    broken = parse_kernel(source, f"{name}.wgsl")
    for module in ("tabgrad.gpu.conformance", "tabgrad.gpu.recorder"):
        monkeypatch.setattr(f"{module}.load_kernel",
                            lambda asked: broken if asked == name else SCALE)
    results = run(check_kernels(device, ["scale", name]))
    assert {result.kernel: result.passed for result in results} == {"scale": True, name: False}
    assert all("y" in (result.problem or "") for result in results if not result.passed)


def test_random_inputs_keep_to_the_header() -> None:
    kernel = load_kernel("embedding_forward")
    values = kernel.checks[-1]
    inputs = random_inputs(kernel, values)
    bound = values["V"]
    assert inputs["ids"].dtype == np.uint32
    assert inputs["ids"].max() < bound
    again = random_inputs(kernel, values)
    assert all((inputs[name] == again[name]).all() for name in inputs)
    assert np.isnan(np.uint32(conformance.UNWRITTEN).view(np.float32))


def test_a_model_is_checked_with_its_own_constants(device: Device) -> None:
    programs = needed_programs(device, PRESETS["byte-tinygpt"])
    results = run(check_programs(device, programs))
    assert {result.kernel for result in results} == {program.name for program in programs}
    checked = [(result.kernel, result.sizes) for result in results]
    for program in programs:
        assert any(kernel == program.name and program.consts.items() <= sizes.items()
                   for kernel, sizes in checked)
    assert [result for result in results if not result.passed] == []
