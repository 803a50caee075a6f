"""Storage: bytes on the GPU, the regions of it that kernels bind, and the pool behind it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass

from tabgrad.errors import KernelError
from tabgrad.gpu.memory import round_up
from tabgrad.platform.gpu_protocol import Gpu, Range

POOL_BYTES = 256 * 2**20  # free buffers kept for reuse; beyond that the oldest are destroyed


class Block:
    """What the recorder knows about a storage; outlives its `Storage` while commands need it.

    Attributes:
        buffer: the GPU buffer, None while the block is only a promise (a temporary).
        tape: the recording that made it, when it was made inside one.
        written: whether anything was ever written to it.
        holds: how many tapes and plans still need it.
        released: whether its `Storage` is gone, so that nobody can name it again.
    """

    __slots__ = ("buffer", "capacity", "holds", "label", "released", "size", "tape", "written")

    def __init__(self, size: int, label: str) -> None:
        self.size = size
        self.label = label
        self.buffer: int | None = None
        self.capacity = 0
        self.tape: object | None = None
        self.written = False
        self.holds = 0
        self.released = False


class Storage:
    """A piece of GPU memory. When the last reference to it goes, its buffer is used again."""

    def __init__(self, block: Block, pool: Pool) -> None:
        self.block = block
        weakref.finalize(self, pool.released, block).atexit = False

    @property
    def size(self) -> int:
        """Bytes."""
        return self.block.size

    @property
    def label(self) -> str:
        """What it was made for."""
        return self.block.label

    @property
    def region(self) -> Region:
        """All of it."""
        return Region(self, 0, self.block.size)

    def __repr__(self) -> str:
        return f"Storage({self.label}, {self.size} bytes)"


@dataclass(frozen=True)
class Region:
    """A range of bytes of a storage: what a kernel binds."""

    storage: Storage
    offset: int
    size: int

    def part(self, offset: int, size: int) -> Region:
        """A range inside this one; `offset` counts from this region's start.

        Raises:
            KernelError: it reaches beyond.
        """
        if offset < 0 or size < 1 or offset + size > self.size:
            raise KernelError(f"{self.storage.label}: a part reaches beyond its region.",
                              expected=f"0 to {self.size} bytes",
                              received=f"{offset} to {offset + size}")
        return Region(self.storage, self.offset + offset, size)

    @property
    def range(self) -> Range:
        """Where it lies on the GPU.

        Raises:
            KernelError: it has no place yet.
        """
        buffer = self.storage.block.buffer
        if buffer is None:
            raise KernelError(f"{self.storage.label} has no place yet.",
                              remedy="Use storage, or a plan's output.")
        return buffer, self.offset, self.size


class Pool:
    """Buffers that are free. The queue's order makes reuse safe without a fence."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._free: list[tuple[int, int]] = []  # (bytes, buffer), oldest first
        self.closed = False

    def take(self, size: int, label: str) -> tuple[int, int]:
        """A buffer of at least `size` bytes with any content; (buffer, its bytes)."""
        size = round_up(size)
        fits = [entry for entry in self._free if size <= entry[0] <= 2 * size]
        if fits:
            best = min(fits)
            self._free.remove(best)
            return best[1], best[0]
        return self._gpu.create_buffer(size, label), size

    def give(self, buffer: int, capacity: int) -> None:
        """Takes a buffer back."""
        if self.closed:
            return
        self._free.append((capacity, buffer))
        held = sum(size for size, _ in self._free)
        while held > POOL_BYTES:
            size, oldest = self._free.pop(0)
            held -= size
            self._gpu.destroy_buffer(oldest)

    def trim(self) -> None:
        """Destroys the buffers that are free: a model went, and the next has other sizes."""
        if not self.closed:
            for _, buffer in self._free:
                self._gpu.destroy_buffer(buffer)
        self._free = []

    def materialize(self, block: Block, zeroed: bool = False) -> int:
        """The block's buffer; takes one if it has none, a new one where it must be zeros."""
        if block.buffer is None and zeroed:
            block.capacity = round_up(block.size)
            block.buffer = self._gpu.create_buffer(block.capacity, block.label)
        elif block.buffer is None:
            block.buffer, block.capacity = self.take(block.size, block.label)
        return block.buffer

    def hold(self, block: Block) -> None:
        """Keeps a block's buffer from being reused."""
        block.holds += 1

    def drop(self, blocks: Iterable[Block]) -> None:
        """Undoes one `hold` of each."""
        for block in blocks:
            block.holds -= 1
            self._reuse(block)

    def released(self, block: Block) -> None:
        """Called when a `Storage` dies."""
        block.released = True
        self._reuse(block)

    def _reuse(self, block: Block) -> None:
        if block.released and block.holds == 0 and block.buffer is not None:
            self.give(block.buffer, block.capacity)
            block.buffer = None
