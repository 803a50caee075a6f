"""The NumPy device: the same answers as WebGPU, in order, without blocking the event loop."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from tabgrad.errors import KernelError
from tabgrad.gpu import numpy_gpu
from tabgrad.gpu.cases import random_inputs
from tabgrad.gpu.device import Device
from tabgrad.gpu.kernels import kernel_names, load_kernel
from tabgrad.platform.gpu_protocol import Launch, Program
from tests.helpers import opened, run

SIZES = {"COUNT": 64, "FACTOR": 2.0, "ACCUMULATE": 0}


@pytest.mark.parametrize("name", kernel_names())
def test_a_launch_fills_its_outputs_as_webgpu_does(name: str) -> None:
    kernel = load_kernel(name)
    assert set(kernel.needs) <= opened("webgpu").info.features, "the tests' adapter runs them all"
    values = kernel.checks[-1]
    sizes, consts = kernel.split(values)
    outputs = []
    for kind in ("webgpu", "numpy"):
        device = opened(kind)
        inputs = random_inputs(kernel, values)
        regions = {}
        for binding in kernel.bindings:
            size = kernel.binding_bytes(values)[binding.name]
            region = device.allocate(size, binding.name).region
            if binding.name in inputs:
                device.write(region, kernel.encode(binding.name, inputs[binding.name], values))
            regions[binding.name] = region
        device.launch(name, sizes, consts, 0, **regions)
        outputs.append({binding.name: np.frombuffer(
            run(device.read(regions[binding.name])),
            np.float32 if binding.dtype == "f32" else np.uint32)
            for binding in kernel.bindings if binding.is_output})
    for binding, expected in outputs[1].items():
        np.testing.assert_allclose(outputs[0][binding], expected, rtol=kernel.oracle.rtol,
                                   atol=kernel.oracle.atol, err_msg=binding)


def plan_of(device: Device, launches: int) -> tuple[object, object, object]:
    feed = device.allocate(256, "feed").region
    with device.recording() as tape:
        y = feed
        for _ in range(launches):
            out = device.temporary(256, "out")
            device.launch("scale", SIZES, out=out, x=y)
            y = out
    return run(tape.compile([y])), feed, y


def test_the_event_loop_runs_between_launches(numpy_device: Device,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_gpu, "PAUSE_MS", 0.0)
    plan, feed, y = plan_of(numpy_device, 30)
    ticks = 0

    async def count() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    async def main() -> bytes:
        task = asyncio.create_task(count())
        result = await numpy_device.replay([plan], feed=feed, data=np.ones(64, np.float32),
                                           readback=y)
        task.cancel()
        return result

    assert np.frombuffer(asyncio.run(main()), np.float32)[0] == 2.0**30
    assert ticks >= 30


def test_writes_between_replays_stay_in_order(numpy_device: Device) -> None:
    plan, feed, y = plan_of(numpy_device, 1)
    flights = []
    for value in range(4):
        numpy_device.write(feed, np.full(64, value, np.float32))
        flights.append(numpy_device.replay([plan], readback=y))
    results = [np.frombuffer(run(flight), np.float32)[0] for flight in reversed(flights)]
    assert results == [6, 4, 2, 0]


def test_a_failing_launch_ends_the_work_behind_it(numpy_device: Device,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    from tabgrad.reference import scale as oracles

    plan, feed, y = plan_of(numpy_device, 2)
    calls = 0

    def broken(x: np.ndarray, **_: object) -> np.ndarray:
        nonlocal calls
        calls += 1
        raise FloatingPointError("broken")

    monkeypatch.setattr(oracles, load_kernel("scale").oracle.function, broken)
    with pytest.raises(FloatingPointError):
        run(numpy_device.replay([plan], feed=feed, data=np.ones(64, np.float32), readback=y))
    run(numpy_device.gpu.wait())
    assert calls == 1


def test_a_launch_with_too_few_bytes_is_refused(numpy_device: Device) -> None:
    gpu = numpy_device.gpu
    small = gpu.create_buffer(4, "small")
    run(gpu.compile([Program("p", "scale", "", {**SIZES}, {}, ("read_write", "read"), "p")]))
    with pytest.raises(KernelError, match="wrong number of bytes"):
        gpu.create_plan([Launch("p", ((small, 0, 4), (small, 0, 4)), (1, 1, 1), "p")], "p")
    gpu.destroy_buffer(small)
