"""The way back from the native GPU: a ring of staging buffers, the fence, and the errors."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import wgpu

from tabgrad.errors import DeviceLost, KernelError, OutOfMemory

RING = 3
COUNTERS = ("buffers", "bind_groups", "pipelines", "submits", "dispatches", "live_buffers",
            "bytes")


class DeviceState:
    """Whether a device is still there, what was made on it, and who wants to hear of a loss."""

    def __init__(self) -> None:
        self.on_lost: Callable[[str, str], None] | None = None
        self.gone: str | None = None
        self.counters = dict.fromkeys(COUNTERS, 0)

    @contextmanager
    def errors(self, label: str) -> Iterator[None]:
        """Names the kernel or buffer in whatever the GPU refuses inside."""
        if self.gone is not None:
            raise DeviceLost("The GPU device is gone.", received=self.gone)
        try:
            yield
        except wgpu.GPUOutOfMemoryError as error:
            raise OutOfMemory(f"{label}: the GPU has no memory left.", received=str(error),
                              remedy="Use a smaller batch, context or model.") from error
        except (wgpu.GPUError, RuntimeError) as error:
            if "device is lost" in str(error).lower():
                self._lose(str(error))
                raise DeviceLost("The GPU device was lost.", received=str(error)) from error
            raise KernelError(f"{label}: the GPU refused it.", received=str(error)) from error

    def _lose(self, message: str) -> None:
        if self.gone is None:
            self.gone = message
            if self.on_lost is not None:
                self.on_lost("unknown", message)


class Staging:
    """One buffer of the ring: bytes on their way back."""

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer
        self.pending: NativeReadback | None = None


class Ring:
    """Staging buffers, used in turn."""

    def __init__(self, device: Any, state: DeviceState) -> None:
        self._device = device
        self._state = state
        self._items: list[Staging] = []
        self._fence: Any = None

    def take(self, size: int) -> Staging:
        """A free one of at least `size` bytes; when all are busy, the oldest is fetched first."""
        fits = [item for item in self._items if item.buffer.size >= size]
        free = [item for item in fits if item.pending is None]
        if free:
            return free[0]
        if len(fits) >= RING:
            oldest = fits[0]
            assert oldest.pending is not None
            oldest.pending.fetch()
            self._items.remove(oldest)
            self._items.append(oldest)
            return oldest
        item = Staging(self._create("staging", size,
                                    wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST))
        self._items.append(item)
        return item

    def _create(self, label: str, size: int, usage: int) -> Any:
        with self._state.errors(label):
            buffer = self._device.create_buffer(label=label, size=size, usage=usage)
        self._state.counters["buffers"] += 1
        self._state.counters["live_buffers"] += 1
        self._state.counters["bytes"] += size
        return buffer

    def fetch(self, item: Staging, size: int) -> bytes:
        """The first `size` bytes, once the GPU has written them; frees the buffer."""
        with self._state.errors("staging"):
            item.buffer.map_sync("READ", 0, size)
            data = bytes(item.buffer.read_mapped(0, size))
            item.buffer.unmap()
        item.pending = None
        return data

    def wait(self) -> None:
        """Blocks until the queue is empty, by reading back four bytes.

        (`on_submitted_work_done` of wgpu-py 0.32 raises TypeError before it calls anything.)
        """
        if self._fence is None:
            self._fence = self._create("fence", 4, wgpu.BufferUsage.COPY_SRC)
        item = self.take(4)
        with self._state.errors("wait"):
            encoder = self._device.create_command_encoder(label="wait")
            encoder.copy_buffer_to_buffer(self._fence, 0, item.buffer, 0, 4)
            self._device.queue.submit([encoder.finish()])
        self.fetch(item, 4)

    def destroy(self) -> None:
        """Frees all of them."""
        for item in self._items:
            item.buffer.destroy()
        self._items.clear()


class NativeReadback:
    """The awaitable of one replay. The bytes are fetched when they are asked for."""

    def __init__(self, ring: Ring, staging: Staging | None, size: int) -> None:
        self._ring = ring
        self._staging = staging
        self._size = size
        self._data: bytes | None = None
        if staging is not None:
            staging.pending = self

    def fetch(self) -> bytes:
        """The bytes; gives the staging buffer back to the ring."""
        if self._data is None:
            if self._staging is None:
                self._ring.wait()
                self._data = b""
            else:
                self._data = self._ring.fetch(self._staging, self._size)
        return self._data

    def __await__(self) -> Generator[Any, None, bytes]:
        yield from ()
        return self.fetch()
