"""The device in Chromium: Tint compiles, replay.js replays, OPFS keeps."""

from __future__ import annotations

from tests.e2e.chromium import Chromium
from tests.e2e.python_page import PythonPage

RECORD = """
import numpy as np
from tabgrad.gpu.device import open_device

device = await open_device("webgpu")

def scale(out, x, factor):
    device.launch("scale", {"COUNT": 100, "FACTOR": factor, "ACCUMULATE": 0}, out=out, x=x)

x = device.allocate(400, "x").region
"""
PLAN = RECORD + """
with device.recording() as tape:
    a, b, c = (device.temporary(400, name) for name in "abc")
    scale(a, x, 2.0)
    scale(b, a, 3.0)
    scale(c, b, 4.0)
plan = await tape.compile([c], label="three scales")
data = np.arange(300, dtype=np.float32)
async def replay():
    return np.frombuffer(await device.replay([plan], feed=x, data=data, steps=3, readback=c),
                         np.float32)
"""


def test_eager_launches_run_in_order(browser_python: PythonPage) -> None:
    assert browser_python(RECORD + """
device.write(x, np.ones(100, np.float32))
a = device.temporary(400, "a")
scale(a, x, 2.0)
device.write(x, np.full(100, 5, np.float32))
b = device.temporary(400, "b")
scale(b, x, 2.0)
result = [float(np.frombuffer(await device.read(r), np.float32)[7]) for r in (a, b)]
device.close()
result
""") == [2.0, 10.0]


def test_a_plan_replays_with_new_data_and_makes_nothing_new(browser_python: PythonPage) -> None:
    first, second, same, made = browser_python(PLAN + """
first = await replay()
data = data + 1
second = await replay()
before = device.gpu.counters()
third = await replay()
after = device.gpu.counters()
device.close()
[first.tolist(), second.tolist(), bool((second == third).all()),
 {name: after[name] - before[name] for name in after}]
""")
    assert first == [24.0 * i for i in range(300)]
    assert second == [24.0 * (i + 1) for i in range(300)]
    assert same
    assert made == {"buffers": 0, "bind_groups": 0, "pipelines": 0, "submits": 3,
                    "dispatches": 9, "live_buffers": 0, "bytes": 0}


def test_replays_in_flight_keep_their_order(browser_python: PythonPage) -> None:
    assert browser_python(PLAN + """
flights = [device.replay([plan], feed=x, data=np.full(100, i, np.float32), readback=c)
           for i in range(6)]
result = [float(np.frombuffer(await flight, np.float32)[0]) for flight in flights]
device.close()
result
""") == [0.0, 24.0, 48.0, 72.0, 96.0, 120.0]


def test_a_replay_without_readback_can_be_awaited(browser_python: PythonPage) -> None:
    assert browser_python(PLAN + """
nothing = await device.replay([plan], feed=x, data=np.ones(100, np.float32))
result = [len(nothing), float(np.frombuffer(await device.read(c), np.float32)[0])]
await device.gpu.wait()
device.close()
result
""") == [0, 24.0]


def test_profile_names_every_launch(browser_python: PythonPage) -> None:
    rows = browser_python(PLAN + """
rows = await device.profile(plan)
device.close()
rows
""")
    assert [label for label, _ in rows] == [
        f"scale(COUNT=100, FACTOR={factor}, ACCUMULATE=0)" for factor in (2.0, 3.0, 4.0)]
    assert all(milliseconds >= 0 for _, milliseconds in rows)


def test_a_loss_is_reported_and_every_later_call_says_so(browser_python: PythonPage) -> None:
    reported, errors, lost = browser_python(PLAN + """
import asyncio
from tabgrad.errors import DeviceLost
reported = []
device.on_lost = lambda reason, message: reported.append(reason)
flight = device.replay([plan], feed=x, data=data, steps=3, readback=c)
device.gpu._gpu.device.destroy()
errors = []
async def attempt(call):
    try:
        await call()
    except DeviceLost as error:
        errors.append(error.code)
async def wait_for_flight():
    await flight
await attempt(wait_for_flight)
for _ in range(3000):  # a busy machine may tell of it late
    if reported:
        break
    await asyncio.sleep(0.02)
await attempt(replay)
await attempt(lambda: device.read(c))
[reported, errors, device.lost]
""")
    assert reported == ["destroyed"]
    # The replay that was on its way may have come back before the device went.
    assert errors[-2:] == ["device-lost", "device-lost"]
    assert lost


def test_closing_is_no_loss(browser_python: PythonPage) -> None:
    assert browser_python(PLAN + """
import asyncio
reported = []
device.on_lost = lambda reason, message: reported.append(reason)
device.close()
await asyncio.sleep(0.2)
reported
""") == []


def test_shader_errors_name_the_kernel_and_the_line(browser_python: PythonPage) -> None:
    said = browser_python("""
from dataclasses import replace
from tabgrad.errors import KernelError
from tabgrad.gpu.device import open_device
from tabgrad.platform.gpu_protocol import Program
device = await open_device("webgpu")
try:
    await device.gpu.compile([Program("k", "broken", "@compute @workgroup_size(1)\\nfn broken() "
                                      "{ let a: u32 = 1.5; }", {}, {}, (), "broken(N=3)")])
    said = ""
except KernelError as error:
    said = str(error)
device.close()
said
""")
    assert "broken(N=3)" in said
    assert "line 2" in said


def test_a_wrong_bind_group_is_an_error_at_the_next_wait(browser_python: PythonPage) -> None:
    said = browser_python(PLAN + """
from tabgrad.errors import KernelError
from tabgrad.platform.gpu_protocol import Launch
small = device.gpu.create_buffer(4, "small")
program = "scale(COUNT=100, FACTOR=2.0, ACCUMULATE=0)"
device.gpu.create_plan([Launch(program, ((small, 0, 400), (small, 0, 4)), (1, 1, 1), "bad")], "p")
try:
    await device.gpu.wait()
    said = ""
except KernelError as error:
    said = str(error)
await device.gpu.wait()
device.close()
said
""")
    assert "bad" in said


def test_files_round_trip(browser_python: PythonPage) -> None:
    assert browser_python("""
from tabgrad import platform
files = platform.current().files("test-files")
big = bytes(range(256)) * 40000
written = await files.write("runs/a/model", [big[:5_000_000], memoryview(big)[5_000_000:]])
same = await files.read("runs/a/model") == big
await files.write("runs/a/new", [b"second"])
await files.replace("runs/a/new", "runs/a/model")
listed = [[e.name, e.is_folder, e.size] for e in await files.list("runs/a")]
folders = [[e.name, e.is_folder] for e in await files.list("runs")]
replaced = (await files.read("runs/a/model")).decode()
await files.remove("runs/a/missing")
await files.remove("runs")
[written, same, listed, folders, replaced, await files.exists("runs"), await files.list("runs"),
 (await files.usage())[1] > 0]
""") == [10_240_000, True, [["model", False, 6]], [["a", True]], "second", False, [], True]


def test_files_say_what_went_wrong(browser_python: PythonPage) -> None:
    missing, outside = browser_python("""
from tabgrad import platform
from tabgrad.errors import StorageError
files = platform.current().files("test-files")
said = []
for path in ("no/such", "../above"):
    try:
        await files.read(path)
    except StorageError as error:
        said.append(str(error))
said
""")
    assert "no/such cannot be read" in missing
    assert "This path cannot be used" in outside


def test_a_lock_has_one_holder(browser_python: PythonPage) -> None:
    assert browser_python("""
from tabgrad import platform
first = await platform.current().files("test-files").lock("run")
second = await platform.current().files("test-files").lock("run")
first.release()
again = []  # at once after each release, as when a run is stopped and resumed
for _ in range(20):
    held = await platform.current().files("test-files").lock("run")
    again.append(held is not None)
    held.release()
[first is not None, second is None, all(again)]
""") == [True, True, True]


def test_pause_lets_the_loop_run(browser_python: PythonPage) -> None:
    ticks, usual_ms = browser_python("""
import asyncio
from tabgrad import platform
here = platform.current()
ticks = 0
async def count():
    global ticks
    while True:
        ticks += 1
        await asyncio.sleep(0)
task = asyncio.ensure_future(count())
took = []
for _ in range(21):
    start = here.now_ms()
    await here.pause()
    took.append(here.now_ms() - start)
task.cancel()
[ticks, sorted(took)[10]]
""")
    assert ticks > 10
    assert usual_ms < 20  # the middle one: another program may take the core from any of them


def test_the_console_stays_empty(browser_python: PythonPage) -> None:
    assert browser_python("1 + 1") == 2
    assert browser_python.problems == []


def test_a_killed_gpu_process_is_a_loss_and_a_new_device_opens(chromium: Chromium,
                                                               python_page_url: str) -> None:
    python = PythonPage(chromium.context, python_page_url)
    assert python("""
import builtins
builtins.names = globals()
""" + PLAN + """
reported = []
device.on_lost = lambda reason, message: reported.append(reason)
1
""") == 1
    chromium.kill_gpu_process()
    reported, code, again = python("""
import asyncio
from tabgrad.errors import DeviceLost
from tabgrad.gpu.device import open_device
old, reported = names["device"], names["reported"]
for _ in range(3000):
    if reported:
        break
    await asyncio.sleep(0.02)
try:
    await old.replay([names["plan"]], readback=names["c"])
    code = None
except DeviceLost as error:
    code = error.code
device = await open_device("webgpu")
x = device.allocate(4, "x").region
device.write(x, b"abcd")
again = (await device.read(x)).decode()
device.close()
[reported, code, again]
""")
    assert reported == ["unknown"]
    assert code == "device-lost"
    assert again == "abcd"
    python.close()
