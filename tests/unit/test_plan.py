"""Plans: recorded once, replayed with other data, with nothing new made."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabgrad.errors import KernelError
from tabgrad.gpu.device import Device, open_device
from tabgrad.gpu.plan import Plan
from tabgrad.gpu.recording import Recording
from tabgrad.gpu.storage import Region
from tabgrad.platform.gpu_protocol import Launch
from tests.helpers import opened, run

COUNT = 100
BYTES = 4 * COUNT


@pytest.fixture(params=["webgpu", "numpy"])
def any_device(request: pytest.FixtureRequest) -> Device:
    """Each of the two devices that run here."""
    return opened(request.param)


def scale(device: Device, x: Region, factor: float, out: Region | None = None,
          accumulate: int = 0) -> Region:
    out = out or device.temporary(x.size, "out")
    device.launch("scale", {"COUNT": x.size // 4, "FACTOR": factor, "ACCUMULATE": accumulate},
                  flops=x.size // 4, out=out, x=x)
    return out


def floats(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.float32)


def scales(device: Device, factors: list[float]) -> tuple[Plan, Region, Region]:
    """A plan of scales in a row, its feed and its output."""
    feed = device.allocate(BYTES, "feed").region
    with device.recording() as tape:
        y = feed
        for factor in factors:
            y = scale(device, y, factor)
    return run(tape.compile([y], label="scales")), feed, y


def test_a_plan_says_what_it_holds(any_device: Device) -> None:
    plan, _, y = scales(any_device, [2.0, 3.0, 4.0, 5.0])
    assert plan.dispatches == 4
    assert plan.kernels == ("scale",)
    assert plan.outputs == (y,)
    assert plan.flops == 400
    assert plan.slot_bytes == 1024  # two of 512: each scale reads one and writes the other
    assert [info.label for info in plan.launches][:2] == [
        "scale(COUNT=100, FACTOR=2.0, ACCUMULATE=0)", "scale(COUNT=100, FACTOR=3.0, ACCUMULATE=0)"]
    assert all(info.bytes == 2 * BYTES and info.groups == (1, 1, 1) for info in plan.launches)


def test_nothing_runs_before_the_replay(any_device: Device) -> None:
    plan, _, y = scales(any_device, [2.0])
    before = any_device.gpu.counters()["dispatches"]
    assert not floats(run(any_device.read(y))).any()
    assert any_device.gpu.counters()["dispatches"] == before
    plan.release()


def test_replay_feeds_each_step_and_reads_each_back(any_device: Device) -> None:
    plan, feed, y = scales(any_device, [2.0, 3.0])
    data = np.arange(3 * COUNT, dtype=np.float32)
    for shift in (0, 1, 2):
        result = run(any_device.replay([plan], feed=feed, data=data + shift, steps=3, readback=y))
        assert (floats(result) == 6 * (data + shift)).all()


def test_the_steady_state_makes_nothing_new(any_device: Device) -> None:
    plan, feed, y = scales(any_device, [2.0] * 10)
    data = np.ones(2 * COUNT, np.float32)

    def replay() -> None:
        run(any_device.replay([plan], feed=feed, data=data, steps=2, readback=y))

    replay()
    gc.collect()
    before = any_device.gpu.counters()
    for _ in range(5):
        replay()
    after = any_device.gpu.counters()
    made = {name: after[name] - before[name] for name in after}
    assert made == {"buffers": 0, "bind_groups": 0, "pipelines": 0, "live_buffers": 0, "bytes": 0,
                    "submits": 10, "dispatches": 100}


def test_changed_scalars_count_in_the_third_replay(device: Device) -> None:
    """A frozen learning rate would pass the first two."""
    count = 8
    sizes = {"COUNT": count, "DECAYED": 0, "BETA1": 0.9, "BETA2": 0.95, "GAIN1": 0.1,
             "GAIN2": 0.05, "EPSILON": 1e-8, "WEIGHT_DECAY": 0.0}
    weights = device.allocate(4 * count, "weights").region
    first = device.allocate(4 * count, "first").region
    second = device.allocate(4 * count, "second").region
    gradients = device.allocate(4 * count, "gradients").region
    norm = device.allocate(8, "norm").region
    scalars = device.allocate(16, "scalars").region
    halted = device.allocate(4, "halted").region
    device.write(norm, np.ones(2, np.float32))
    device.write(gradients, np.ones(count, np.float32))
    with device.recording() as tape:
        device.launch("adamw", sizes, weights=weights, first=first, second=second,
                      gradients=gradients, norm=norm, halted=halted, scalars=scalars)
    plan = run(tape.compile(label="adamw"))

    def step(rate: float) -> float:
        before = floats(run(device.read(weights)))[0]
        run(device.replay([plan], feed=scalars, readback=weights,
                          data=np.array([rate, 1, 1, 1], np.float32)))
        return float(floats(run(device.read(weights)))[0] - before)

    moved = [step(0.0), step(0.0), step(1.0), step(0.0)]
    assert moved[0] == moved[1] == moved[3] == 0
    assert moved[2] < -0.1


def test_equal_input_equal_bits(any_device: Device) -> None:
    plan, feed, y = scales(any_device, [0.1, 1.7, 3.3])
    data = np.random.default_rng(0).standard_normal(COUNT).astype(np.float32)
    results = [run(any_device.replay([plan], feed=feed, data=data, readback=y)) for _ in range(2)]
    assert results[0] == results[1]


def test_replays_in_flight_come_back_in_order(any_device: Device) -> None:
    plan, feed, y = scales(any_device, [2.0])
    flights = [any_device.replay([plan], feed=feed, data=np.full(COUNT, i, np.float32), readback=y)
               for i in range(8)]
    assert [floats(run(flight))[0] for flight in flights] == [2 * i for i in range(8)]
    assert run(any_device.replay([plan], feed=feed, data=np.ones(COUNT, np.float32))) == b""


def test_two_plans_share_slots_and_run_one_after_the_other(any_device: Device) -> None:
    first, feed, y = scales(any_device, [2.0, 3.0, 4.0])
    shared = any_device.slot_bytes
    with any_device.recording() as tape:
        z = scale(any_device, scale(any_device, scale(any_device, y, 10.0), 1.0), 1.0)
    second = run(tape.compile([z], label="second"))
    assert any_device.slot_bytes == shared
    result = run(any_device.replay([first, second], feed=feed, data=np.ones(COUNT, np.float32),
                                   readback=z))
    assert floats(result)[0] == 240


def test_release_gives_the_memory_back() -> None:
    device = run(open_device("webgpu"))
    plan, _, y = scales(device, [2.0, 3.0, 4.0])
    assert device.slot_bytes == 1024
    plan.release()
    plan.release()
    assert device.slot_bytes == 0
    with pytest.raises(KernelError, match="not released"):
        device.replay([plan], readback=y)
    device.close()


def test_a_plan_keeps_the_storage_that_it_names(any_device: Device) -> None:
    plan, feed, y = scales(any_device, [2.0])
    run(any_device.replay([plan], feed=feed, data=np.ones(COUNT, np.float32)))
    before = any_device.gpu.counters()["live_buffers"]
    del feed
    gc.collect()
    others = [scale(any_device, y, 7.0) for _ in range(4)]  # would take a free buffer
    run(any_device.flush())
    assert any_device.gpu.counters()["live_buffers"] >= before
    assert floats(run(any_device.replay([plan], readback=y)))[0] == 2
    del others


def test_what_ran_before_the_recording_can_be_read_in_it(any_device: Device) -> None:
    x = any_device.allocate(BYTES, "x").region
    any_device.write(x, np.ones(COUNT, np.float32))
    before = scale(any_device, x, 5.0)  # not flushed yet
    with any_device.recording() as tape:
        y = scale(any_device, before, 2.0)
    plan = run(tape.compile([y]))
    assert floats(run(any_device.replay([plan], readback=y)))[0] == 10


def test_what_is_not_allowed_while_recording(any_device: Device) -> None:
    x = any_device.allocate(BYTES, "x").region
    with any_device.recording():
        inside = scale(any_device, x, 2.0)
        for call in (any_device.flush, lambda: any_device.read(x)):
            with pytest.raises(KernelError, match="not possible while recording"):
                run(call())
        with pytest.raises(KernelError, match="the recording uses it"):
            any_device.write(x, np.ones(COUNT, np.float32))
        with pytest.raises(KernelError, match="recording is going on"), any_device.recording():
            pass
    with pytest.raises(KernelError, match="temporary of a plan"):
        run(any_device.read(inside))
    with pytest.raises(KernelError, match="temporary of a plan"):
        scale(any_device, inside, 2.0)


def test_what_replay_refuses(any_device: Device) -> None:
    plan, feed, y = scales(any_device, [2.0])
    with pytest.raises(KernelError, match=r"do not fill the feed.*800 bytes for 2 steps.*400"):
        any_device.replay([plan], feed=feed, data=np.ones(COUNT, np.float32), steps=2)
    with pytest.raises(KernelError, match="at least one step"):
        any_device.replay([], readback=y)
    scale(any_device, y, 2.0)
    with pytest.raises(KernelError, match=r"Await device\.flush\(\) first"):
        any_device.replay([plan], readback=y)
    run(any_device.flush())


def test_a_recording_that_fails_leaves_nothing_behind(any_device: Device) -> None:
    x = any_device.allocate(BYTES, "x").region
    with pytest.raises(ZeroDivisionError), any_device.recording():
        scale(any_device, x, 2.0)
        raise ZeroDivisionError
    any_device.write(x, np.ones(COUNT, np.float32))
    assert floats(run(any_device.read(scale(any_device, x, 2.0))))[0] == 2


def test_long_steps_go_in_parts(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, feed, y = scales(device, [2.0] * 12)
    seen: list[int] = []
    replay = device.gpu.replay

    def spy(*arguments: Any) -> Any:
        seen.append(arguments[-1])
        return replay(*arguments)

    monkeypatch.setattr(device.gpu, "replay", spy)
    for milliseconds in (None, 100.0, 400.0, 900.0, 1100.0, 2600.0):
        if milliseconds is not None:
            device._pace._steps[(plan.id,)] = milliseconds
        result = run(device.replay([plan], feed=feed, data=np.ones(COUNT, np.float32), readback=y))
        assert floats(result)[0] == 2.0**12
    assert seen == [1, 1, 2, 2, 3, 6]
    assert device.step_ms([plan]) is not None


def test_profile_names_every_launch(any_device: Device) -> None:
    plan, _, _ = scales(any_device, [2.0, 3.0])
    rows = run(any_device.profile(plan))
    assert [label for label, _ in rows] == [info.label for info in plan.launches]
    assert all(milliseconds >= 0 for _, milliseconds in rows)


# A random program: each entry makes a new value from one that exists, or adds into the newest.
steps_of_programs = st.lists(st.tuples(st.integers(0, 10**6), st.integers(-2, 2), st.booleans()),
                             min_size=1, max_size=25)


@settings(max_examples=60)
@given(steps_of_programs, st.integers(1, 600))
def test_random_programs_compute_what_they_say(program: list[tuple[int, int, bool]],
                                               count: int) -> None:
    device = opened("numpy")
    feed = device.allocate(4 * count, "feed").region
    fed = np.arange(count, dtype=np.float32)
    values = [fed]
    with device.recording() as tape:
        regions = [feed]
        for which, factor, accumulate in program:
            source = which % len(regions)
            accumulate = accumulate and 0 < len(regions) - 1 != source
            target = regions[-1] if accumulate else None
            result = scale(device, regions[source], factor, target, int(accumulate))
            product = np.float32(factor) * values[source]
            if accumulate:
                values[-1] = values[-1] + product
            else:
                regions.append(result)
                values.append(product)
    commands = _commands(device, tape)
    plan = run(tape.compile([regions[-1]]))
    for _ in range(2):
        received = run(device.replay([plan], feed=feed, data=fed, readback=regions[-1]))
        np.testing.assert_array_equal(floats(received), values[-1])
    for launch in commands:
        assert launch.bindings[0][0] != launch.bindings[1][0], "read-only and writable at once"
    plan.release()


def _commands(device: Device, tape: Recording) -> list[Launch]:
    """Filled with the launches when the tape becomes a plan."""
    launches: list[Launch] = []
    gpu = device.gpu
    create = type(gpu).create_plan

    def spy(commands: Any, label: str) -> int:
        launches.extend(command for command in commands if isinstance(command, Launch))
        vars(gpu).pop("create_plan")
        return create(gpu, commands, label)

    vars(gpu)["create_plan"] = spy
    return launches
