"""The GPU for where there is none: every launch runs its kernel's NumPy oracle."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

import numpy as np

from tabgrad import platform
from tabgrad.errors import DeviceLost, KernelError
from tabgrad.gpu.headers import STORED
from tabgrad.gpu.kernels import NUMPY_DTYPES, Kernel, load_kernel
from tabgrad.platform.files_protocol import BytesLike, Files, as_bytes
from tabgrad.platform.gpu_protocol import (
    AdapterInfo,
    Clear,
    Command,
    Copy,
    Launch,
    Program,
    Range,
    upload_pieces,
)
from tabgrad.reference.stored import unpack

PAUSE_MS = 20.0
"""Longest time without letting the event loop run, except inside one launch."""
LIMITS = {"maxStorageBufferBindingSize": 2**31 - 4, "maxBufferSize": 2**31 - 4,
          "maxStorageBuffersPerShaderStage": 8, "maxComputeWorkgroupStorageSize": 16384,
          "maxComputeInvocationsPerWorkgroup": 256, "maxComputeWorkgroupsPerDimension": 65535}
Task: TypeAlias = Callable[[], None]


class NumpyReadback:
    """The awaitable of one replay: awaiting it computes, with pauses."""

    def __init__(self, gpu: NumpyGpu, data: bytearray) -> None:
        self._gpu = gpu
        self._data = data

    def __await__(self) -> Generator[Any, None, bytes]:
        yield from self._gpu.wait().__await__()
        return bytes(self._data)


class NumpyGpu:
    """Implements `Gpu`. Work is queued when it is submitted, and done when somebody waits."""

    def __init__(self) -> None:
        self.info = AdapterInfo("numpy", "CPU (NumPy)", "cpu", "", frozenset(), dict(LIMITS))
        self.on_lost: Callable[[str, str], None] | None = None
        self._closed = False
        self._buffers: dict[int, np.ndarray[Any, np.dtype[np.uint8]]] = {}
        self._plans: dict[int, list[tuple[str, Task]]] = {}
        self._programs: dict[str, tuple[Kernel, dict[str, int | float]]] = {}
        self._queue: deque[Task] = deque()
        self._next_id = 1
        self._counters = dict.fromkeys(("buffers", "bind_groups", "pipelines", "submits",
                                        "dispatches", "live_buffers", "bytes"), 0)

    def _check(self) -> None:
        if self._closed:
            raise DeviceLost("The GPU device is gone.", received="it was closed")

    async def compile(self, programs: Sequence[Program],
                      progress: Callable[[int, int], None] | None = None) -> None:
        """Looks the oracles up."""
        self._check()
        for done, program in enumerate(programs, 1):
            kernel = load_kernel(program.name)
            kernel.oracle_function()
            sizes = {size.name: program.constants[size.name] if size.dtype == "f32"
                     else int(program.constants[size.name]) for size in kernel.sizes}
            self._programs[program.key] = kernel, sizes | program.consts
            self._counters["pipelines"] += 1
            if progress is not None:
                progress(done, len(programs))

    def create_buffer(self, size: int, label: str) -> int:
        """A zeroed byte array; its id."""
        self._check()
        self._buffers[self._next_id] = np.zeros(size, np.uint8)
        self._next_id += 1
        self._counters["buffers"] += 1
        self._counters["live_buffers"] += 1
        self._counters["bytes"] += size
        return self._next_id - 1

    def destroy_buffer(self, buffer: int) -> None:
        """Forgets it; queued work still has it."""
        self._counters["live_buffers"] -= 1
        self._counters["bytes"] -= self._buffers.pop(buffer).nbytes

    def write(self, buffer: int, offset: int, data: BytesLike) -> None:
        """Copies bytes in, in the order of the queue."""
        self._check()
        view = as_bytes(data)
        target = self._buffers[buffer][offset:offset + view.nbytes]
        if self._queue:
            self._queue.append(_assignment(target, np.frombuffer(bytes(view), np.uint8)))
        else:
            target[:] = np.frombuffer(view, np.uint8)

    async def upload(self, buffer: int, offset: int, files: Files, path: str,
                     file_offset: int, size: int) -> None:
        """Copies bytes of a file in, in pieces; see `Gpu.upload`."""
        await upload_pieces(files, path, file_offset, size, lambda start, piece: self.write(
            buffer, offset + start, piece))

    async def read(self, buffer: int, offset: int, size: int) -> bytes:
        """The bytes after all that was submitted before."""
        source = self._buffers[buffer]
        await self.wait()
        return source[offset:offset + size].tobytes()

    def create_plan(self, commands: Sequence[Command], label: str) -> int:
        """Makes one task of each command."""
        self._check()
        self._plans[self._next_id] = [
            (command.label if isinstance(command, Launch) else type(command).__name__.lower(),
             self._task(command)) for command in commands]
        self._next_id += 1
        return self._next_id - 1

    def destroy_plan(self, plan: int) -> None:
        """Forgets it."""
        del self._plans[plan]

    def _range(self, place: Range) -> np.ndarray[Any, np.dtype[np.uint8]]:
        buffer, offset, size = place
        return self._buffers[buffer][offset:offset + size]

    def _task(self, command: Command) -> Task:
        if isinstance(command, Launch):
            self._counters["bind_groups"] += 1
            return self._launch_task(command)
        if isinstance(command, Clear):
            return _assignment(self._range((command.buffer, command.offset, command.size)),
                               np.zeros((), np.uint8))
        assert isinstance(command, Copy)
        return _assignment(
            self._range((command.target, command.target_offset, command.size)),
            self._range((command.source, command.source_offset, command.size)))

    def _launch_task(self, launch: Launch) -> Task:
        kernel, sizes = self._programs[launch.program]
        ranges = {binding.name: self._range(place)
                  for binding, place in zip(kernel.bindings, launch.bindings, strict=True)}
        shapes = _shapes(kernel, sizes, ranges)
        dtype = kernel.stored_dtype(sizes)
        stored = [binding.name for binding in kernel.bindings
                  if binding.dtype == STORED and dtype != "float32"]
        arrays = {binding.name: ranges[binding.name].view(NUMPY_DTYPES[binding.dtype])
                  .reshape(shapes[binding.name])
                  for binding in kernel.bindings if binding.name not in stored}

        def run() -> None:
            self._counters["dispatches"] += 1
            # Unpacked for this launch only: kept, they would take twice their memory again.
            unpacked = {name: unpack(ranges[name], dtype, math.prod(shapes[name]))
                        .reshape(shapes[name]) for name in stored}
            for name, result in kernel.reference(arrays | unpacked, sizes).items():
                arrays[name][...] = result

        return run

    def replay(self, plans: Sequence[int], feed: Range | None, data: BytesLike, steps: int,
               readback: Range | None, parts: int = 1) -> NumpyReadback:
        """Queues `steps` times the plans; `parts` means nothing here."""
        self._check()
        pieces = np.frombuffer(bytes(as_bytes(data)), np.uint8).reshape(steps, -1)
        result = bytearray()
        for step in range(steps):
            if feed is not None:
                self._queue.append(_assignment(self._range(feed), pieces[step]))
            for plan in plans:
                self._queue.extend(task for _, task in self._plans[plan])
            if readback is not None:
                self._queue.append(_collection(result, self._range(readback)))
            self._counters["submits"] += 1
        return NumpyReadback(self, result)

    async def wait(self) -> None:
        """Does the queued work, and lets the event loop run between launches."""
        self._check()
        here = platform.current()
        paused = here.now_ms()
        while self._queue:
            task = self._queue.popleft()
            try:
                task()
            except BaseException:
                # What follows would compute with what this one did not write.
                self._queue.clear()
                raise
            if here.now_ms() - paused > PAUSE_MS:
                await here.pause()
                self._check()
                paused = here.now_ms()

    async def profile(self, plan: int) -> list[tuple[str, float]]:
        """Runs the plan once and times each command."""
        await self.wait()
        now_ms = platform.current().now_ms
        rows = []
        for label, task in self._plans[plan]:
            start = now_ms()
            task()
            rows.append((label, now_ms() - start))
        return rows

    def counters(self) -> dict[str, int]:
        """Made since the start, and held now; see `Gpu.counters`."""
        return dict(self._counters)

    def close(self) -> None:
        """Forgets everything."""
        self._closed = True
        self._queue.clear()
        self._plans.clear()
        self._buffers.clear()


def _assignment(target: np.ndarray[Any, np.dtype[np.uint8]],
                source: np.ndarray[Any, np.dtype[np.uint8]]) -> Task:
    def run() -> None:
        target[...] = source
    return run


def _collection(result: bytearray, source: np.ndarray[Any, np.dtype[np.uint8]]) -> Task:
    def run() -> None:
        result.extend(source.tobytes())
    return run


def _shapes(kernel: Kernel, sizes: dict[str, int | float],
            ranges: dict[str, np.ndarray[Any, Any]]) -> dict[str, tuple[int, ...]]:
    """The header's shapes, which the bound bytes must fill."""
    for name, size in kernel.binding_bytes(sizes).items():
        if ranges[name].nbytes != size:
            raise KernelError(f"{kernel.name}: binding {name} has the wrong number of bytes.",
                              expected=f"{size}", received=f"{ranges[name].nbytes}")
    return kernel.shapes(sizes)
