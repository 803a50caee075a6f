"""The GPU of the tab: a thin caller of `web/replay.js`. Descriptors go over as JSON text."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from pyodide.ffi import JsException, create_proxy, to_js

from tabgrad.errors import DeviceLost, KernelError, NoAdapter, OutOfMemory, TabgradError
from tabgrad.platform.browser_files import (
    STORAGE_NAMES,
    BrowserFiles,
    checked,
    storage_error,
)
from tabgrad.platform.browser_seam import seam
from tabgrad.platform.files_protocol import BytesLike, Files, as_bytes, ends_early
from tabgrad.platform.gpu_protocol import AdapterInfo, Clear, Command, Copy, Launch, Program, Range

NO_BYTES = to_js(b"")


@contextmanager
def gpu_errors() -> Iterator[None]:
    """Turns a failure from JavaScript into the error of that name."""
    try:
        yield
    except JsException as error:
        raise to_python(error) from error


def to_python(error: Any) -> TabgradError:
    """The error that `web/gpu/failures.js` meant."""
    message = str(error.message)
    if error.name == "NoAdapter":
        return NoAdapter("No WebGPU adapter was found.", received=message)
    if error.name == "DeviceLost":
        return DeviceLost("The GPU device was lost.", received=message)
    if error.name == "OutOfMemory":
        return OutOfMemory("The GPU has no memory left.", received=message,
                           remedy="Use a smaller batch, context or model.")
    if error.name == "KernelError":
        return KernelError(f"{error.label}: the GPU refused it.", received=str(error.detail))
    return KernelError("The GPU refused a call.", received=f"{error.name}: {message}")


async def open_browser_gpu() -> BrowserGpu:
    """A device of the browser's fastest adapter. Raises `NoAdapter`."""
    with gpu_errors():
        return BrowserGpu(await (await seam()).openGpu())


def command_text(command: Command) -> dict[str, Any]:
    """A command as `web/replay.js` reads it."""
    if isinstance(command, Launch):
        return {"launch": [command.program, command.bindings, command.groups, command.label]}
    if isinstance(command, Clear):
        return {"clear": [command.buffer, command.offset, command.size]}
    assert isinstance(command, Copy)
    return {"copy": [command.source, command.source_offset, command.target,
                     command.target_offset, command.size]}


class BrowserReadback:
    """The awaitable of one replay."""

    def __init__(self, gpu: BrowserGpu, promise: Any) -> None:
        self._gpu = gpu
        self._promise = promise

    def __await__(self) -> Generator[Any, None, bytes]:
        return self._wait().__await__()

    def _wait(self) -> Coroutine[Any, Any, bytes]:
        return self._gpu.wait_for(self._promise)


class BrowserGpu:
    """Implements `Gpu` with WebGPU in the browser."""

    def __init__(self, gpu: Any) -> None:
        self._gpu = gpu
        self._listener: Any = None
        info = json.loads(gpu.info)
        self.info = AdapterInfo("browser", info["name"], info["vendor"], info["architecture"],
                                frozenset(info["features"]), info["limits"])

    @property
    def on_lost(self) -> Callable[[str, str], None] | None:
        """Called with (reason, message) when the device is lost."""
        return None if self._listener is None else self._listener.unwrap()

    @on_lost.setter
    def on_lost(self, callback: Callable[[str, str], None] | None) -> None:
        previous, self._listener = self._listener, None
        if callback is not None:
            self._listener = create_proxy(callback)
        self._gpu.setOnLost(self._listener)
        if previous is not None:
            previous.destroy()

    async def compile(self, programs: Sequence[Program],
                      progress: Callable[[int, int], None] | None = None) -> None:
        """Compiles in parallel."""
        listener = None if progress is None else create_proxy(progress)
        try:
            with gpu_errors():
                await self._gpu.compile(json.dumps([asdict(item) for item in programs]), listener)
        finally:
            if listener is not None:
                listener.destroy()

    def create_buffer(self, size: int, label: str) -> int:
        """A zeroed buffer; its id."""
        with gpu_errors():
            return int(self._gpu.createBuffer(size, label))

    def destroy_buffer(self, buffer: int) -> None:
        """Frees it once the work that was submitted before is through."""
        with gpu_errors():
            self._gpu.destroyBuffer(buffer)

    def write(self, buffer: int, offset: int, data: BytesLike) -> None:
        """Copies bytes in, in the order of the queue."""
        with gpu_errors():
            self._gpu.write(buffer, offset, to_js(as_bytes(data)))

    async def upload(self, buffer: int, offset: int, files: Files, path: str,
                     file_offset: int, size: int) -> None:
        """Copies bytes of a file of OPFS in; they do not pass through Python."""
        assert isinstance(files, BrowserFiles)
        opened = await files.opened()
        try:
            await self._gpu.upload(buffer, offset, opened, checked(path), file_offset, size)
        except JsException as error:
            if error.name == "EndsEarly":
                raise ends_early(path, file_offset, size) from error
            if error.name in STORAGE_NAMES:
                raise storage_error("read", path, error) from error
            raise to_python(error) from error

    async def read(self, buffer: int, offset: int, size: int) -> bytes:
        """The bytes after all that was submitted before."""
        with gpu_errors():
            return bytes((await self._gpu.read(buffer, offset, size)).to_bytes())

    def create_plan(self, commands: Sequence[Command], label: str) -> int:
        """Makes the bind groups once; its id."""
        with gpu_errors():
            text = json.dumps([command_text(command) for command in commands])
            return int(self._gpu.createPlan(text, label))

    def destroy_plan(self, plan: int) -> None:
        """Forgets it."""
        self._gpu.destroyPlan(plan)

    def replay(self, plans: Sequence[int], feed: Range | None, data: BytesLike, steps: int,
               readback: Range | None, parts: int = 1) -> BrowserReadback:
        """One call into JavaScript, however many steps and launches; see `Gpu.replay`."""
        text = json.dumps({"plans": plans, "feed": feed, "steps": steps, "readback": readback,
                           "parts": parts})
        with gpu_errors():
            promise = self._gpu.replay(text, NO_BYTES if feed is None else to_js(as_bytes(data)))
        return BrowserReadback(self, promise)

    async def wait_for(self, promise: Any) -> bytes:
        """The bytes of a replay; without a readback, the end of all work."""
        with gpu_errors():
            if promise is None:
                await self._gpu.wait()
                return b""
            return bytes((await promise).to_bytes())

    async def profile(self, plan: int) -> list[tuple[str, float]]:
        """(Launch label, milliseconds) of one run of the plan."""
        with gpu_errors():
            rows = json.loads(await self._gpu.profile(plan))
        return [(label, milliseconds) for label, milliseconds in rows]

    async def wait(self) -> None:
        """Until the queue is empty."""
        with gpu_errors():
            await self._gpu.wait()

    def counters(self) -> dict[str, int]:
        """Made since the start, and held now; see `Gpu.counters`."""
        return dict(json.loads(self._gpu.counters()))

    def close(self) -> None:
        """Gives the device back."""
        self._gpu.close()
        self.on_lost = None
