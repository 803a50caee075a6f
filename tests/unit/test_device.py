"""The device outside plans: order, pooling, and refusals that say what and why."""

from __future__ import annotations

import asyncio
import gc

import numpy as np
import pytest

from tabgrad.errors import DeviceLost, KernelError, OutOfMemory, SettingsError
from tabgrad.gpu.device import Device, current_device, open_device
from tabgrad.gpu.storage import Region
from tests.helpers import opened, run

COUNT = 100
BYTES = 4 * COUNT


@pytest.fixture(params=["webgpu", "numpy"])
def any_device(request: pytest.FixtureRequest) -> Device:
    """Each of the two devices that run here."""
    return opened(request.param)


def put(device: Device, values: object, label: str = "x") -> Region:
    array = np.asarray(values, np.float32)
    region = device.allocate(array.nbytes, label).region
    device.write(region, array)
    return region


def scale(device: Device, x: Region, factor: float, out: Region | None = None,
          accumulate: int = 0) -> Region:
    out = out or device.temporary(x.size, "out")
    device.launch("scale", {"COUNT": x.size // 4, "FACTOR": factor, "ACCUMULATE": accumulate},
                  out=out, x=x)
    return out


def values(device: Device, region: Region) -> np.ndarray:
    return np.frombuffer(run(device.read(region)), np.float32)


def test_storage_starts_as_zeros(any_device: Device) -> None:
    assert not values(any_device, any_device.allocate(BYTES, "x").region).any()


def test_launches_writes_clears_and_copies_keep_their_order(any_device: Device) -> None:
    x = put(any_device, np.ones(COUNT))
    doubled = scale(any_device, x, 2.0)
    any_device.write(x, np.full(COUNT, 5, np.float32))
    tenfold = scale(any_device, x, 2.0)
    saved = any_device.temporary(BYTES, "saved")
    any_device.copy(tenfold, saved)
    any_device.clear(tenfold)
    assert values(any_device, doubled)[3] == 2
    assert values(any_device, tenfold)[3] == 0
    assert values(any_device, saved)[3] == 10
    assert values(any_device, x)[3] == 5


def test_accumulate_adds_to_what_is_there(any_device: Device) -> None:
    x = put(any_device, np.arange(COUNT))
    out = scale(any_device, x, 2.0)
    scale(any_device, x, 3.0, out, accumulate=1)
    assert (values(any_device, out) == 5 * np.arange(COUNT)).all()


def test_forgotten_temporaries_still_count_in_a_chain(any_device: Device) -> None:
    y = put(any_device, np.ones(COUNT))
    for _ in range(20):
        y = scale(any_device, y, 2.0)
    assert values(any_device, y)[0] == 2.0**20


def test_a_chain_of_forgotten_temporaries_shares_buffers(any_device: Device) -> None:
    y = put(any_device, np.ones(1000))
    run(any_device.flush())
    before = any_device.gpu.counters()["live_buffers"]
    for _ in range(30):
        y = scale(any_device, y, 1.0)
    run(any_device.flush())
    assert any_device.gpu.counters()["live_buffers"] - before <= 3


def test_the_pool_uses_buffers_of_the_dead_again(any_device: Device) -> None:
    x = put(any_device, np.ones(5000))
    run(any_device.read(scale(any_device, x, 2.0)))
    gc.collect()
    before = any_device.gpu.counters()["buffers"]
    for factor in range(10):
        assert values(any_device, scale(any_device, x, factor))[0] == factor
    assert any_device.gpu.counters()["buffers"] - before <= 1


def test_a_part_of_storage_can_be_bound(any_device: Device) -> None:
    storage = any_device.allocate(1024, "arena")
    any_device.write(storage.region, np.arange(256, dtype=np.float32))
    half = storage.region.part(512, 512)
    assert values(any_device, scale(any_device, half, 2.0))[0] == 256
    with pytest.raises(KernelError, match="beyond its region"):
        half.part(256, 512)


def test_two_outputs_in_one_arena_are_fine_apart_and_refused_together(device: Device) -> None:
    arena = device.allocate(2048, "arena").region
    x = put(device, np.ones(128))
    scale(device, x, 3.0, arena.part(0, 512))
    scale(device, x, 4.0, arena.part(512, 512))
    assert values(device, arena)[[0, 128, 256]].tolist() == [3, 4, 0]
    with pytest.raises(KernelError, match=r"out and x share the buffer arena"):
        scale(device, arena.part(0, 512), 2.0, arena.part(1024, 512))


@pytest.mark.parametrize("sizes, said", [
    ({"COUNT": 100, "FACTOR": 2.0}, r"sizes given.*COUNT, FACTOR, ACCUMULATE.*COUNT, FACTOR"),
    ({"COUNT": 1.5, "FACTOR": 2.0, "ACCUMULATE": 0}, r"COUNT must be a whole number.*1\.5"),
    ({"COUNT": 0, "FACTOR": 2.0, "ACCUMULATE": 0}, r"must be at least 1"),
    ({"COUNT": 99, "FACTOR": 2.0, "ACCUMULATE": 0},
     r"scale\(COUNT=99.*binding out has the wrong number of bytes.*396.*400"),
])
def test_wrong_sizes(any_device: Device, sizes: dict[str, float], said: str) -> None:
    x, out = put(any_device, np.ones(COUNT)), any_device.temporary(BYTES, "out")
    with pytest.raises(KernelError, match=said):
        any_device.launch("scale", sizes, out=out, x=x)


def test_more_than_the_adapter_allows(any_device: Device) -> None:
    x, out = put(any_device, np.ones(COUNT)), any_device.temporary(BYTES, "out")
    with pytest.raises(OutOfMemory, match=r"scale\(COUNT=2147483648.*(too many workgroups|larger "
                                          r"than this adapter can bind).*Use a smaller batch"):
        any_device.launch("scale", {"COUNT": 2**31, "FACTOR": 2.0, "ACCUMULATE": 0}, out=out, x=x)


def test_wrong_bindings(any_device: Device) -> None:
    sizes = {"COUNT": COUNT, "FACTOR": 2.0, "ACCUMULATE": 0}
    x, out = put(any_device, np.ones(COUNT)), any_device.temporary(BYTES, "out")
    with pytest.raises(KernelError, match=r"bindings.*Expected: out, x. Received: out, y"):
        any_device.launch("scale", sizes, out=out, y=x)
    with pytest.raises(KernelError, match=r"binding x is read before anything was written"):
        any_device.launch("scale", sizes, out=out, x=any_device.temporary(BYTES, "nothing"))
    with pytest.raises(KernelError, match=r"binding out is read before anything was written"):
        scale(any_device, x, 1.0, any_device.temporary(BYTES, "nothing"), accumulate=1)
    with pytest.raises(KernelError, match="no kernel 'scael'.*Did you mean scale"):
        any_device.launch("scael", sizes, out=out, x=x)
    shifted = any_device.allocate(1024, "shifted").region.part(128, BYTES)
    with pytest.raises(KernelError, match="multiple of 256"):
        any_device.launch("scale", sizes, out=out, x=shifted)


def test_wrong_writes_and_copies(any_device: Device) -> None:
    x = put(any_device, np.ones(COUNT))
    with pytest.raises(KernelError, match="wrong number of bytes.*Expected: 400.*Received: 4"):
        any_device.write(x, b"four")
    with pytest.raises(KernelError, match="do not fit together"):
        any_device.copy(x, x)
    with pytest.raises(KernelError, match="is read before anything was written"):
        run(any_device.read(any_device.temporary(4, "nothing")))
    with pytest.raises(OutOfMemory, match="cannot hold a buffer"):
        any_device.allocate(2**40, "huge")


def test_reads_from_two_tasks_do_not_disturb_each_other(any_device: Device) -> None:
    async def one(factor: int) -> float:
        y = scale(any_device, put(any_device, np.ones(COUNT)), factor)
        return float(np.frombuffer(await any_device.read(y), np.float32)[0])

    async def all_of_them() -> list[float]:
        return await asyncio.gather(*(one(factor) for factor in range(8)))

    assert asyncio.run(all_of_them()) == list(range(8))


def test_numpy_says_that_it_is_numpy() -> None:
    device = run(open_device("numpy"))
    assert device.info.runtime == "numpy"
    assert device.fallback is None
    assert current_device() is device
    device.close()
    with pytest.raises(SettingsError, match="auto, webgpu or numpy"):
        run(open_device("cuda"))


def test_auto_without_an_adapter_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from tabgrad.errors import NoAdapter
    from tabgrad.platform.native import NativePlatform

    async def nothing(self: NativePlatform) -> None:
        raise NoAdapter("No WebGPU adapter was found.")

    monkeypatch.setattr(NativePlatform, "open_gpu", nothing)
    device = run(open_device("auto"))
    assert device.info.runtime == "numpy"
    assert "No WebGPU adapter" in (device.fallback or "")
    device.close()
    with pytest.raises(NoAdapter):
        run(open_device("webgpu"))


def test_a_loss_is_reported_once_and_every_later_call_says_so() -> None:
    device = run(open_device("webgpu"))
    x = put(device, np.ones(COUNT))
    reported: list[str] = []
    device.on_lost = lambda reason, message: reported.append(message)
    device.gpu._device.destroy()
    for _ in range(2):
        with pytest.raises(DeviceLost):
            run(device.read(scale(device, x, 2.0)))
    assert device.lost
    assert len(reported) == 1
    with pytest.raises(KernelError, match="No device is open"):
        current_device()


def test_close_is_no_loss_and_ends_everything(any_device: Device) -> None:
    device = run(open_device("webgpu" if any_device.info.runtime == "native" else "numpy"))
    x = put(device, np.ones(COUNT))
    reported: list[str] = []
    device.on_lost = lambda reason, message: reported.append(message)
    device.close()
    device.close()
    assert reported == []
    with pytest.raises(DeviceLost):
        run(device.read(x))
