"""Every kernel in Chromium: Tint compiles it, and SwiftShader computes what its oracle says."""

from __future__ import annotations

from tabgrad.gpu.kernels import kernel_names, load_kernel
from tests.e2e.python_page import PythonPage


def test_every_kernel_equals_its_oracle(browser_python: PythonPage) -> None:
    results, features = browser_python("""
from dataclasses import asdict
from tabgrad.gpu.conformance import check_kernels
from tabgrad.gpu.device import open_device
device = await open_device("webgpu")
results = await check_kernels(device)
device.close()
[[{**asdict(r), "error": str(r.error)} for r in results], sorted(device.info.features)]
""")
    failed = [result for result in results if not result["passed"]]
    assert failed == []
    checked = {result["kernel"] for result in results}

    assert checked == {name for name in kernel_names()
                       if set(load_kernel(name).needs) <= set(features)}
    assert browser_python.problems == []
