"""What a GPU does. Three implement it: the browser, CPython with wgpu, and NumPy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tabgrad.platform.files_protocol import BytesLike, Files

Range: TypeAlias = tuple[int, int, int]
"""(buffer id, byte offset, byte size)."""


def padded(data: bytes) -> bytes:
    """The bytes with zeros behind them, up to a multiple of four.

    Example:
        >>> padded(b"abcdef").hex()
        '6162636465660000'
    """
    return data + bytes(-len(data) % 4)


UPLOAD_BYTES = 16 * 2**20
"""Longest piece in which a file goes to the GPU."""
ALIGNMENT = 256
"""Bind offsets are multiples of this: the largest minimum that WebGPU allows an adapter."""


async def upload_pieces(files: Files, path: str, offset: int, size: int,
                        write: Callable[[int, bytes], None]) -> None:
    """Reads a part of a file in pieces that a GPU takes.

    Args:
        files: where it lies.
        path: the file.
        offset: where the part begins, in bytes.
        size: of the part, in bytes.
        write: is given where in the part a piece begins, and its bytes, padded to a multiple of
            four.
    """
    for start in range(0, size, UPLOAD_BYTES):
        piece = await files.read_range(path, offset + start, min(UPLOAD_BYTES, size - start))
        write(start, padded(piece))


@dataclass(frozen=True)
class AdapterInfo:
    """Which GPU this is. `limits` and `features` use WebGPU's own names."""

    runtime: str
    name: str
    vendor: str
    architecture: str
    features: frozenset[str]
    limits: dict[str, int]

    @property
    def key(self) -> str:
        """Names the adapter in files: measurements taken on one are not used on another."""
        return "/".join((self.runtime, self.vendor, self.architecture, self.name))


@dataclass(frozen=True)
class Program:
    """One kernel with its sizes fixed: what becomes a pipeline.

    Args:
        key: equal keys are equal programs.
        name: the kernel, and the entry point of `code`.
        code: complete WGSL.
        constants: values of the WGSL overrides, by name.
        consts: the constants that `code` was composed with (for the NumPy GPU's shapes).
        access: "read" or "read_write" of each binding, in binding order.
        label: kernel and sizes, for errors and for the browser's GPU tools.
    """

    key: str
    name: str
    code: str
    constants: dict[str, float]
    consts: dict[str, float]
    access: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class Launch:
    """One dispatch: a program, what it binds, and how many workgroups."""

    program: str
    bindings: tuple[Range, ...]
    groups: tuple[int, int, int]
    label: str


@dataclass(frozen=True)
class Clear:
    """Fills a byte range with zeros."""

    buffer: int
    offset: int
    size: int


@dataclass(frozen=True)
class Copy:
    """Copies a byte range between two different buffers."""

    source: int
    source_offset: int
    target: int
    target_offset: int
    size: int


Command: TypeAlias = Launch | Clear | Copy


class Gpu(Protocol):
    """Buffers, programs and plans of one device.

    Offsets and sizes are bytes and multiples of 4. After a loss every pending and later call
    raises `DeviceLost`. What the GPU refuses raises `KernelError` or `OutOfMemory` with the
    label; where the GPU only says so later (the browser), the next awaited call raises it.
    """

    info: AdapterInfo
    on_lost: Callable[[str, str], None] | None
    """Called with (reason, message) when the device is lost, but not for our own `close`."""

    async def compile(self, programs: Sequence[Program],
                      progress: Callable[[int, int], None] | None = None) -> None:
        """Makes pipelines; `progress(done, total)` as they become ready."""

    def create_buffer(self, size: int, label: str) -> int:
        """A zeroed buffer, for storage and copies; its id."""

    def destroy_buffer(self, buffer: int) -> None:
        """Frees it once the work that was submitted before is through."""

    def write(self, buffer: int, offset: int, data: BytesLike) -> None:
        """Copies bytes in, after what was submitted before and before what comes next."""

    async def upload(self, buffer: int, offset: int, files: Files, path: str,
                     file_offset: int, size: int) -> None:
        """Copies bytes of a file in, in the order of the queue and in pieces of at most 16 MiB;
        in the tab they never pass through Python's memory. `size` is any number of bytes: the
        last four are filled up with zeros.

        Raises:
            StorageError: the file ends before, or cannot be read.
        """

    async def read(self, buffer: int, offset: int, size: int) -> bytes:
        """The bytes after all that was submitted before."""

    def create_plan(self, commands: Sequence[Command], label: str) -> int:
        """Makes the bind groups once; its id. Programs must be compiled."""

    def destroy_plan(self, plan: int) -> None:
        """Forgets it."""

    def replay(self, plans: Sequence[int], feed: Range | None, data: BytesLike, steps: int,
               readback: Range | None, parts: int = 1) -> Awaitable[bytes]:
        """Runs the plans, one after the other, `steps` times.

        Each step writes the next `feed` size bytes of `data` at `feed`, submits all commands in
        `parts` command buffers, and copies `readback` into its place of a staging buffer from a
        ring. Submits at once. Creates no buffer, bind group or pipeline once the ring exists.

        Returns:
            An awaitable of `steps` times the readback's bytes; without a readback it gives
            b"" when the work is through.
        """

    async def profile(self, plan: int) -> list[tuple[str, float]]:
        """Runs the plan once and gives (launch label, milliseconds) of each launch."""

    async def wait(self) -> None:
        """Until the queue is empty."""

    def counters(self) -> dict[str, int]:
        """Made since the start: buffers, bind_groups, pipelines, submits, dispatches.
        Held now: live_buffers, bytes."""

    def close(self) -> None:
        """Gives the device back; later calls raise `DeviceLost`."""
