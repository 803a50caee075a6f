"""The device: storage, the recorder's tape, flushes, plans and their replay."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tabgrad import platform
from tabgrad.errors import DeviceLost, KernelError, NoAdapter, OutOfMemory, SettingsError
from tabgrad.gpu.flush import flush_tape
from tabgrad.gpu.pace import Pace, PacedReplay
from tabgrad.gpu.plan import Plan, Slots, make_plan
from tabgrad.gpu.recorder import (
    Number,
    RecordedWrite,
    Recorder,
    Tape,
    Use,
    check_usable,
    recorded_clear,
    recorded_copy,
)
from tabgrad.gpu.recording import Progress, Recording, SelfTest
from tabgrad.gpu.storage import Block, Pool, Region, Storage
from tabgrad.gpu.upload import upload
from tabgrad.platform.files_protocol import BytesLike, Files, as_bytes
from tabgrad.platform.gpu_protocol import AdapterInfo, Gpu, Program


class Device:
    """One GPU (or NumPy) with its memory and its recorder; see `open_device`.

    Attributes:
        gpu: the `Gpu` underneath.
        info: the adapter.
        lost: whether the device is gone; then every call raises `DeviceLost`.
        on_lost: called once with (reason, message), but not for our own `close`.
        fallback: why this is not WebGPU, if it is not.
        self_test: awaited with the programs of each plan before it is made; raises to refuse.
    """

    keeps_data = True  # not where bytes are only counted: nothing can be read again

    def __init__(self, gpu: Gpu, fallback: str | None = None) -> None:
        self.gpu = gpu
        self.info: AdapterInfo = gpu.info
        self.fallback = fallback
        self.lost = False
        self.on_lost: Callable[[str, str], None] | None = None
        self.self_test: SelfTest | None = None
        gpu.on_lost = self._lose
        self._recorder = Recorder(gpu.info)
        self._pool = Pool(gpu)
        self._slots = Slots(gpu)
        self._pending = Tape(self._pool)
        self._recording: Tape | None = None
        self._compiled: set[str] = set()
        self._pace = Pace(platform.current().now_ms)
        self._order = asyncio.Lock()

    def _lose(self, reason: str, message: str) -> None:
        self.lost = self._pool.closed = self._slots.closed = True
        if self.on_lost is not None:
            self.on_lost(reason, message)

    # --- storage --------------------------------------------------------------------------

    def allocate(self, size: int, label: str) -> Storage:
        """Zeroed memory that lasts: parameters, feeds.

        Raises:
            OutOfMemory: more than this adapter's largest buffer.
        """
        storage = self._new(size, label)
        capacity = -(-size // 4) * 4
        storage.block.buffer = self.gpu.create_buffer(capacity, label)
        storage.block.capacity = capacity
        storage.block.written = True
        return storage

    def temporary(self, size: int, label: str) -> Region:
        """Memory that gets its place at a flush or in a plan; undefined until written."""
        storage = self._new(size, label)
        storage.block.tape = self._recording
        return storage.region

    def _new(self, size: int, label: str) -> Storage:
        most = self.info.limits["maxBufferSize"]
        if not 1 <= size <= most:
            raise OutOfMemory(f"{label}: this adapter cannot hold a buffer of that size.",
                              expected=f"1 to {most} bytes", received=f"{size}",
                              remedy="Use a smaller batch, context or model.")
        return Storage(Block(size, label), self._pool)

    # --- recording ------------------------------------------------------------------------

    @property
    def _tape(self) -> Tape:
        return self._pending if self._recording is None else self._recording

    def launch(self, kernel: str, sizes: Mapping[str, Number],
               consts: Mapping[str, Number] | None = None, flops: int = 0,
               **regions: Region) -> None:
        """Appends one launch; runs at the next flush, or whenever its plan is replayed.

        Args:
            kernel: a name of `kernel_names()`.
            sizes: every size of the header.
            consts: those that differ from the header's defaults.
            flops: operations to count for it.
            regions: one for each binding, by name.

        Raises:
            KernelError: what the header says and what came, for the first thing that differs.
            OutOfMemory: more than the adapter's limits allow.
        """
        prepared = self._recorder.prepare(kernel, sizes, consts or {})
        tape = self._tape
        tape.append(self._recorder.bind(prepared, regions, tape))
        tape.flops += flops

    def turn(self) -> None:
        """Notes that a backward begins: what is read after it was kept for it."""
        self._tape.turns.append(len(self._tape.commands))

    def clear(self, region: Region) -> None:
        """Fills a region with zeros, in order with the launches."""
        self._tape.append(recorded_clear(region, self._tape))

    def copy(self, source: Region, target: Region) -> None:
        """Copies a region over another of the same size in a different storage.

        Raises:
            KernelError: sizes that differ, or one storage twice.
        """
        self._tape.append(recorded_copy(source, target, self._tape))

    @contextmanager
    def recording(self) -> Iterator[Recording]:
        """Launches inside the block go to a tape of their own, which can become a plan.

        Raises:
            KernelError: a recording is going on already.
        """
        if self._recording is not None:
            raise KernelError("A recording is going on.", remedy="End its with block first.")
        tape = Tape(self._pool)
        self._recording = tape
        try:
            yield Recording(tape, self.compile_tape, self.self_test)
        except BaseException:
            tape.let_go()
            raise
        finally:
            self._recording = None

    def _outside(self, what: str) -> None:
        if self.lost:
            raise DeviceLost("The GPU device is gone.", remedy="Open a new device.")
        if self._recording is not None:
            raise KernelError(f"{what} is not possible while recording.",
                              remedy="Do it before or after the with block.")

    # --- data -----------------------------------------------------------------------------

    def write(self, region: Region, data: BytesLike) -> None:
        """Copies `region.size` bytes in, in order with the launches.

        Raises:
            KernelError: another number of bytes; or a temporary inside a recording.
        """
        view = as_bytes(data)
        if view.nbytes != region.size:
            raise KernelError(f"write to {region.storage.label}: the wrong number of bytes.",
                              expected=f"{region.size}", received=f"{view.nbytes}")
        block = region.storage.block
        check_usable("write", block, self._tape, False)
        if self._recording is not None and (block.tape is self._recording
                                            or self._recording.names(block)):
            raise KernelError(f"write to {block.label}: the recording uses it.",
                              remedy="Write to storage from device.allocate, before its first use.")
        if self._pending.names(block):
            use = Use(block, region.offset, region.size, False, True)
            self._pending.append(RecordedWrite((use,), view.tobytes()))
            return
        self.gpu.write(self._pool.materialize(block), region.offset, view)
        block.written = True

    async def upload(self, region: Region, files: Files, path: str, file_offset: int = 0,
                     size: int | None = None) -> None:
        """Copies bytes of a file in, in order with the launches; see `gpu/upload.py`."""
        self._outside("An upload")
        check_usable("upload", region.storage.block, self._pending, False)
        if self._pending.names(region.storage.block):
            await self.flush()
        await upload(self.gpu, self._pool, region, files, path, file_offset, size)

    async def read(self, region: Region) -> bytes:
        """The bytes after everything launched before; flushes.

        Raises:
            KernelError: inside a recording; or nothing was ever written there.
        """
        self._outside("A read")
        block = region.storage.block
        check_usable("read", block, self._pending, True)
        await self.flush()
        assert block.buffer is not None
        return await self.gpu.read(block.buffer, region.offset, region.size)

    async def flush(self) -> None:
        """Places, compiles and submits what was launched outside recordings."""
        self._outside("A flush")
        # One at a time: a later tape must not overtake one that still compiles.
        async with self._order:
            tape, self._pending = self._pending, Tape(self._pool)
            if tape.commands:
                await self._compile(tape, None)
                flush_tape(self.gpu, self._pool, tape)
            tape.let_go()

    async def _compile(self, tape: Tape, progress: Progress | None) -> None:
        missing: dict[str, Program] = {program.key: program for program in tape.programs()
                                       if program.key not in self._compiled}
        if missing:
            await self.gpu.compile(list(missing.values()), progress)
            self._compiled.update(missing)

    # --- plans ----------------------------------------------------------------------------

    async def compile_tape(self, tape: Tape, outputs: Sequence[Region], label: str,
                           progress: Progress | None) -> Plan:
        """See `Recording.compile`."""
        await self.flush()
        await self._compile(tape, progress)
        for region in outputs:
            check_usable(f"{label}: an output", region.storage.block, tape, True)
        return make_plan(self.gpu, self._pool, self._slots, tape, outputs, label)

    def replay(self, plans: Sequence[Plan], feed: Region | None = None, data: BytesLike = b"",
               steps: int = 1, readback: Region | None = None) -> Awaitable[bytes]:
        """Runs plans one after the other, `steps` times; submits at once.

        Args:
            plans: of this device.
            feed: where each step's piece of `data` goes before it runs.
            data: `steps` times the feed's bytes.
            steps: how often.
            readback: read after each step.

        Returns:
            An awaitable of `steps` times the readback's bytes (b"" without one).

        Raises:
            KernelError: launches that wait for a flush; a released plan; data of the wrong size.
        """
        self._outside("A replay")
        if self._pending.commands:
            raise KernelError("Launches are waiting that must run before the plan.",
                              remedy="Await device.flush() first.")
        if not plans or any(plan.released for plan in plans) or steps < 1:
            raise KernelError("replay: at least one step of plans that are not released.")
        expected = 0 if feed is None else steps * feed.size
        received = as_bytes(data).nbytes
        if received != expected:
            raise KernelError("replay: the data do not fill the feed.", received=f"{received}",
                              expected=f"{expected} bytes for {steps} steps")
        ids = tuple(plan.id for plan in plans)
        parts = self._pace.parts(ids, sum(plan.dispatches for plan in plans))
        started = self._pace.start()
        result = self.gpu.replay(ids, feed.range if feed else None, data, steps,
                                 readback.range if readback else None, parts)
        return PacedReplay(result, self._pace, ids, steps, started)

    def step_ms(self, plans: Sequence[Plan]) -> float | None:
        """Milliseconds of one step as last measured, or None."""
        return self._pace.step_ms(tuple(plan.id for plan in plans))

    async def profile(self, plan: Plan) -> list[tuple[str, float]]:
        """Runs the plan once; (label, milliseconds) of each launch."""
        self._outside("A profile")
        return await self.gpu.profile(plan.id)

    @property
    def slot_bytes(self) -> int:
        """Bytes of the temporaries' slots that all plans share."""
        return self._slots.bytes

    def trim(self) -> None:
        """Gives memory back that is only kept for reuse."""
        self._pool.trim()

    def close(self) -> None:
        """Gives the GPU back; a second call does nothing."""
        if not self.lost:
            self.lost = self._pool.closed = self._slots.closed = True
            self.gpu.close()


_current: Device | None = None


def current_device() -> Device:
    """The device that tensors use when none is named.

    Raises:
        KernelError: no device was opened yet.
    """
    if _current is None or _current.lost:
        raise KernelError("No device is open.", remedy="Use: await open_device().")
    return _current


def use_device(device: Device | None) -> Device | None:
    """Makes it the one that `current_device` gives; the one that was so before."""
    global _current
    before, _current = _current, device
    return before


async def open_device(prefer: str = "auto") -> Device:
    """Opens a device and makes it the current one.

    Args:
        prefer: "webgpu"; "numpy"; or "auto": WebGPU, and NumPy where there is no adapter (then
            `device.fallback` says why).

    Raises:
        NoAdapter: "webgpu" was asked for and there is none.
        SettingsError: another word.
    """
    if prefer not in ("auto", "webgpu", "numpy"):
        raise SettingsError("No such device.", expected="auto, webgpu or numpy",
                            received=repr(prefer))
    fallback = None
    gpu: Gpu | None = None
    if prefer != "numpy":
        try:
            gpu = await platform.current().open_gpu()
        except NoAdapter as error:
            if prefer == "webgpu":
                raise
            fallback = str(error)
    if gpu is None:
        from tabgrad.gpu.numpy_gpu import NumpyGpu
        gpu = NumpyGpu()
    device = Device(gpu, fallback)
    use_device(device)
    return device
