"""A GPU that only counts: the same recording on it says what a real one would allocate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any

from tabgrad.errors import KernelError, OutOfMemory
from tabgrad.gpu.device import Device
from tabgrad.gpu.kernels import Kernel
from tabgrad.gpu.plan import Plan
from tabgrad.gpu.recorder import Recorder, Tape
from tabgrad.gpu.recording import Progress
from tabgrad.gpu.storage import Block, Region, Storage
from tabgrad.platform.files_protocol import BytesLike, Files
from tabgrad.platform.gpu_protocol import AdapterInfo, Command, Program, Range


def _nothing_here() -> KernelError:
    return KernelError("A device that only counts bytes has no numbers to read.",
                       remedy="Build the same on a real device.")


class NoResult:
    """The awaitable of a replay that did not happen."""

    def __await__(self) -> Generator[Any, None, bytes]:
        raise _nothing_here()
        yield  # a generator, as the protocol asks


class CountingGpu:
    """Implements `Gpu`: knows how large its buffers are and what they are called, nothing else.

    Args:
        info: the adapter that it stands for: its limits decide what is refused, its class which
            kernels are chosen.
    """

    def __init__(self, info: AdapterInfo) -> None:
        self.info = info
        self.on_lost: Callable[[str, str], None] | None = None
        self._buffers: dict[int, tuple[int, str]] = {}
        self._made = Counter[str]()

    def held(self) -> list[tuple[str, int]]:
        """(label, bytes) of every buffer."""
        return [(label, size) for size, label in self._buffers.values()]

    async def compile(self, programs: Sequence[Program],
                      progress: Callable[[int, int], None] | None = None) -> None:
        """Counts them."""
        self._made["pipelines"] += len(programs)

    def create_buffer(self, size: int, label: str) -> int:
        """Notes its size; its id."""
        self._made["buffers"] += 1
        self._buffers[self._made["buffers"]] = size, label
        return self._made["buffers"]

    def destroy_buffer(self, buffer: int) -> None:
        """Forgets it."""
        del self._buffers[buffer]

    def write(self, buffer: int, offset: int, data: BytesLike) -> None:
        """Does nothing."""

    async def upload(self, buffer: int, offset: int, files: Files, path: str,
                     file_offset: int, size: int) -> None:
        """Does nothing; reads no file."""

    async def read(self, buffer: int, offset: int, size: int) -> bytes:
        """Raises KernelError: there is nothing."""
        raise _nothing_here()

    def create_plan(self, commands: Sequence[Command], label: str) -> int:
        """Counts it; its id."""
        self._made["plans"] += 1
        return self._made["plans"]

    def destroy_plan(self, plan: int) -> None:
        """Does nothing."""

    def replay(self, plans: Sequence[int], feed: Range | None, data: BytesLike, steps: int,
               readback: Range | None, parts: int = 1) -> NoResult:
        """Does nothing."""
        return NoResult()

    async def profile(self, plan: int) -> list[tuple[str, float]]:
        """Raises KernelError: there is nothing."""
        raise _nothing_here()

    async def wait(self) -> None:
        """Does nothing."""

    def counters(self) -> dict[str, int]:
        """See `Gpu.counters`; nothing is ever submitted."""
        return {"buffers": self._made["buffers"], "bind_groups": 0,
                "pipelines": self._made["pipelines"], "submits": 0, "dispatches": 0,
                "live_buffers": len(self._buffers),
                "bytes": sum(size for size, _ in self._buffers.values())}

    def close(self) -> None:
        """Forgets all buffers."""
        self._buffers.clear()


class _CountingRecorder(Recorder):
    """Hands errors about limits on instead of raising them."""

    def __init__(self, info: AdapterInfo, note: Callable[[OutOfMemory], None]) -> None:
        super().__init__(info)
        self._note = note

    def check_limits(self, kernel: Kernel, label: str, byte_sizes: Sequence[int],
                     groups: tuple[int, int, int]) -> None:
        """Notes what the adapter's limits forbid."""
        try:
            super().check_limits(kernel, label, byte_sizes, groups)
        except OutOfMemory as error:
            self._note(error)


class CountingDevice(Device):
    """A device of such a GPU. What a real one would refuse is noted, and counted all the same.

    Attributes:
        counting: its GPU.
        saved_bytes: the most that a plan made here keeps for a backward; see `Plan`.
        refused: the first thing that goes beyond the adapter's limits, or None.
    """

    keeps_data = False

    def __init__(self, info: AdapterInfo) -> None:
        self.counting = CountingGpu(info)
        self.saved_bytes = 0
        self.refused: OutOfMemory | None = None
        super().__init__(self.counting)
        self._recorder = _CountingRecorder(info, self._note)

    def _note(self, error: OutOfMemory) -> None:
        self.refused = self.refused or error

    def _new(self, size: int, label: str) -> Storage:
        try:
            return super()._new(size, label)
        except OutOfMemory as error:
            self._note(error)
            return Storage(Block(size, label), self._pool)

    async def compile_tape(self, tape: Tape, outputs: Sequence[Region], label: str,
                           progress: Progress | None) -> Plan:
        """See `Recording.compile`."""
        plan = await super().compile_tape(tape, outputs, label, progress)
        self.saved_bytes = max(self.saved_bytes, plan.saved_bytes)
        return plan
