"""What tests share: waiting for coroutines, and one device of each kind for the session."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from tabgrad import platform
from tabgrad.gpu.device import Device, open_device, use_device

Result = TypeVar("Result")
_devices: dict[str, Device] = {}


def run(awaitable: Awaitable[Result]) -> Result:
    """The result of a coroutine, or of anything else that can be awaited."""
    async def wait() -> Result:
        return await awaitable
    return platform.current().run_sync(wait())


def opened(kind: str) -> Device:
    """The session's device of that kind ("webgpu", "numpy"), made the current one."""
    if kind not in _devices or _devices[kind].lost:
        _devices[kind] = run(open_device(kind))
    use_device(_devices[kind])
    return _devices[kind]
