"""WebGPU on CPython: the `Gpu` protocol over wgpu-py. Every call blocks until it is done."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import wgpu

from tabgrad.errors import NoAdapter
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
from tabgrad.platform.native_ring import DeviceState, NativeReadback, Ring

# What we ask for beyond WebGPU's defaults, where the adapter has more.
LIMITS = ("max-storage-buffer-binding-size", "max-buffer-size",
          "max-storage-buffers-per-shader-stage", "max-compute-workgroup-storage-size",
          "max-compute-invocations-per-workgroup", "max-compute-workgroup-size-x",
          "max-compute-workgroup-size-y", "max-compute-workgroup-size-z",
          "max-compute-workgroups-per-dimension")
# wgpu-native's name of a feature, and WebGPU's.
FEATURES = {"shader-f16": "shader-f16", "subgroup": "subgroups",
            "timestamp-query": "timestamp-query"}


def camel_case(name: str) -> str:
    """A limit's name as WebGPU spells it.

    Example:
        >>> camel_case("max-buffer-size")
        'maxBufferSize'
    """
    first, *rest = name.split("-")
    return first + "".join(word.capitalize() for word in rest)


def open_native_gpu() -> NativeGpu:
    """A device with the adapter's own limits. Raises `NoAdapter`."""
    try:
        adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
        wanted = {name: adapter.limits[name] for name in LIMITS}
        features = [name for name in FEATURES if name in adapter.features]
        device = adapter.request_device_sync(label="tabgrad", required_features=features,
                                             required_limits=wanted)
    except (RuntimeError, wgpu.GPUError) as error:
        raise NoAdapter("No WebGPU adapter was found.", received=str(error),
                        remedy="Install a Vulkan driver, or use the device numpy.") from error
    info = AdapterInfo(
        runtime="native", name=adapter.info["device"], vendor=adapter.info["vendor"],
        architecture=adapter.info["architecture"] or adapter.info["description"],
        features=frozenset(FEATURES[name] for name in features),
        limits={camel_case(name): int(device.limits[name]) for name in LIMITS})
    return NativeGpu(device, info)


class NativeGpu:
    """Implements `Gpu` with wgpu-py."""

    def __init__(self, device: Any, info: AdapterInfo) -> None:
        self.info = info
        self._device = device
        self._state = DeviceState()
        self._ring = Ring(device, self._state)
        self._buffers: dict[int, Any] = {}
        self._plans: dict[int, tuple[str, list[tuple[Any, ...]]]] = {}
        self._modules: dict[str, Any] = {}
        self._layouts: dict[tuple[str, ...], tuple[Any, Any]] = {}
        self._pipelines: dict[str, tuple[Any, Any]] = {}
        self._next_id = 1
        self._counters = self._state.counters

    @property
    def on_lost(self) -> Callable[[str, str], None] | None:
        """Called with (reason, message) when the device is lost."""
        return self._state.on_lost

    @on_lost.setter
    def on_lost(self, callback: Callable[[str, str], None] | None) -> None:
        self._state.on_lost = callback

    # --- programs -------------------------------------------------------------------------

    async def compile(self, programs: Sequence[Program],
                      progress: Callable[[int, int], None] | None = None) -> None:
        """Makes pipelines with explicit layouts from each program's `access`."""
        for done, program in enumerate(programs, 1):
            if program.key not in self._pipelines:
                with self._state.errors(program.label):
                    self._pipelines[program.key] = self._pipeline(program)
                self._counters["pipelines"] += 1
            if progress is not None:
                progress(done, len(programs))

    def _pipeline(self, program: Program) -> tuple[Any, Any]:
        module = self._modules.get(program.code)
        if module is None:
            module = self._device.create_shader_module(label=program.name, code=program.code)
            self._modules[program.code] = module
        group_layout, pipeline_layout = self._layout(program.access)
        pipeline = self._device.create_compute_pipeline(
            label=program.label, layout=pipeline_layout,
            compute={"module": module, "entry_point": program.name,
                     "constants": program.constants})
        return pipeline, group_layout

    def _layout(self, access: tuple[str, ...]) -> tuple[Any, Any]:
        if access not in self._layouts:
            kinds = {"read": "read-only-storage", "read_write": "storage"}
            entries = [{"binding": index, "visibility": wgpu.ShaderStage.COMPUTE,
                        "buffer": {"type": kinds[kind]}} for index, kind in enumerate(access)]
            label = ",".join(access)
            group = self._device.create_bind_group_layout(label=label, entries=entries)
            self._layouts[access] = group, self._device.create_pipeline_layout(
                label=label, bind_group_layouts=[group])
        return self._layouts[access]

    # --- buffers --------------------------------------------------------------------------

    def create_buffer(self, size: int, label: str) -> int:
        """A zeroed buffer, for storage and copies; its id."""
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        with self._state.errors(f"{label} ({size} bytes)"):
            buffer = self._device.create_buffer(label=label, size=size, usage=usage)
        self._buffers[self._next_id] = buffer
        self._next_id += 1
        self._counters["buffers"] += 1
        self._counters["live_buffers"] += 1
        self._counters["bytes"] += size
        return self._next_id - 1

    def destroy_buffer(self, buffer: int) -> None:
        """Frees it once the work that was submitted before is through."""
        destroyed = self._buffers.pop(buffer)
        self._counters["live_buffers"] -= 1
        self._counters["bytes"] -= destroyed.size
        destroyed.destroy()

    def write(self, buffer: int, offset: int, data: BytesLike) -> None:
        """Copies bytes in, in the order of the queue."""
        view = as_bytes(data)
        if view.nbytes:
            with self._state.errors(self._buffers[buffer].label):
                self._device.queue.write_buffer(self._buffers[buffer], offset, view)

    async def upload(self, buffer: int, offset: int, files: Files, path: str,
                     file_offset: int, size: int) -> None:
        """Copies bytes of a file in, in pieces; see `Gpu.upload`."""
        await upload_pieces(files, path, file_offset, size, lambda start, piece: self.write(
            buffer, offset + start, piece))

    async def read(self, buffer: int, offset: int, size: int) -> bytes:
        """The bytes after all that was submitted before."""
        source = self._buffers[buffer]
        with self._state.errors(source.label):
            return bytes(self._device.queue.read_buffer(source, offset, size))

    # --- plans ----------------------------------------------------------------------------

    def create_plan(self, commands: Sequence[Command], label: str) -> int:
        """Makes the bind groups once; its id."""
        plan = []
        for command in commands:
            if isinstance(command, Launch):
                plan.append(self._prepare(command))
            elif isinstance(command, Clear):
                plan.append(("clear", self._buffers[command.buffer], command.offset, command.size))
            elif isinstance(command, Copy):
                plan.append(("copy", self._buffers[command.source], command.source_offset,
                             self._buffers[command.target], command.target_offset, command.size))
        self._plans[self._next_id] = label, plan
        self._next_id += 1
        return self._next_id - 1

    def _prepare(self, launch: Launch) -> tuple[Any, ...]:
        pipeline, layout = self._pipelines[launch.program]
        entries = [{"binding": index, "resource": {"buffer": self._buffers[buffer],
                                                   "offset": offset, "size": size}}
                   for index, (buffer, offset, size) in enumerate(launch.bindings)]
        with self._state.errors(launch.label):
            group = self._device.create_bind_group(label=launch.label, layout=layout,
                                                   entries=entries)
        self._counters["bind_groups"] += 1
        return "launch", pipeline, group, launch.groups, launch.label

    def destroy_plan(self, plan: int) -> None:
        """Forgets it."""
        del self._plans[plan]

    def replay(self, plans: Sequence[int], feed: Range | None, data: BytesLike, steps: int,
               readback: Range | None, parts: int = 1) -> NativeReadback:
        """Runs the plans one after the other, `steps` times; see `Gpu.replay`."""
        commands = [command for plan in plans for command in self._plans[plan][1]]
        pieces = split_evenly(commands, parts)
        view = as_bytes(data)
        staging = None if readback is None else self._ring.take(steps * readback[2])
        with self._state.errors(", ".join(self._plans[plan][0] for plan in plans)):
            for step in range(steps):
                if feed is not None:
                    buffer, offset, size = feed
                    self._device.queue.write_buffer(self._buffers[buffer], offset,
                                                    view[step * size:(step + 1) * size])
                for index, piece in enumerate(pieces):
                    encoder = self._device.create_command_encoder(label="replay")
                    self._encode(encoder, piece)
                    if staging is not None and readback is not None and index == len(pieces) - 1:
                        buffer, offset, size = readback
                        encoder.copy_buffer_to_buffer(self._buffers[buffer], offset,
                                                      staging.buffer, step * size, size)
                    self._device.queue.submit([encoder.finish()])
                    self._counters["submits"] += 1
        return NativeReadback(self._ring, staging, 0 if readback is None else steps * readback[2])

    def _encode(self, encoder: Any, commands: Sequence[tuple[Any, ...]]) -> None:
        compute = current = None
        for command in commands:
            if command[0] == "launch":
                if compute is None:
                    compute = encoder.begin_compute_pass(label=command[4])
                if command[1] is not current:
                    current = command[1]
                    compute.set_pipeline(current)
                compute.set_bind_group(0, command[2])
                compute.dispatch_workgroups(*command[3])
                self._counters["dispatches"] += 1
                continue
            if compute is not None:
                compute.end()
                compute = current = None
            if command[0] == "clear":
                encoder.clear_buffer(command[1], command[2], command[3])
            else:
                encoder.copy_buffer_to_buffer(*command[1:])
        if compute is not None:
            compute.end()

    async def wait(self) -> None:
        """Until the queue is empty."""
        self._ring.wait()

    async def profile(self, plan: int) -> list[tuple[str, float]]:
        """Runs each launch by itself and times it by the clock; a fixed cost is in each."""
        rows = []
        for command in self._plans[plan][1]:
            self._ring.wait()
            start = time.perf_counter()
            encoder = self._device.create_command_encoder(label="profile")
            self._encode(encoder, [command])
            self._device.queue.submit([encoder.finish()])
            self._ring.wait()
            label = command[4] if command[0] == "launch" else command[0]
            rows.append((label, (time.perf_counter() - start) * 1e3))
        return rows

    def counters(self) -> dict[str, int]:
        """Made since the start, and held now; see `Gpu.counters`."""
        return dict(self._counters)

    def close(self) -> None:
        """Gives the memory back; the device goes with its last reference."""
        if self._state.gone is None:
            self._state.gone = "it was closed"
            for buffer in self._buffers.values():
                buffer.destroy()
            self._ring.destroy()
            for table in (self._plans, self._buffers, self._pipelines, self._modules,
                          self._layouts):
                table.clear()


def split_evenly(items: list[Any], parts: int) -> list[list[Any]]:
    """Cuts a list into at most `parts` runs of nearly equal length, never an empty one.

    Example:
        >>> split_evenly([1, 2, 3, 4, 5], 2)
        [[1, 2], [3, 4, 5]]
        >>> split_evenly([1], 3)
        [[1]]
    """
    parts = max(1, min(parts, len(items)))
    cuts = [len(items) * index // parts for index in range(parts + 1)]
    return [items[start:stop] for start, stop in itertools.pairwise(cuts)]
