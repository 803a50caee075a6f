"""The recorder: checks each launch against its kernel's header and appends it to a tape."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tabgrad.errors import KernelError, OutOfMemory
from tabgrad.gpu.kernels import Kernel, load_kernel
from tabgrad.gpu.storage import Block, Pool, Region
from tabgrad.platform.gpu_protocol import ALIGNMENT, AdapterInfo, Program

Number: TypeAlias = int | float


@dataclass(frozen=True)
class Use:
    """A range of a block, and how a command uses it."""

    block: Block
    offset: int
    size: int
    reads: bool
    writes: bool

    def overlaps(self, other: Use) -> bool:
        """Whether both name some same byte."""
        return (self.block is other.block and self.offset < other.offset + other.size
                and other.offset < self.offset + self.size)


@dataclass(frozen=True)
class RecordedLaunch:
    """A kernel with what it binds, in binding order."""

    program: Program
    uses: tuple[Use, ...]
    groups: tuple[int, int, int]


@dataclass(frozen=True)
class RecordedClear:
    """A range to fill with zeros."""

    uses: tuple[Use]


@dataclass(frozen=True)
class RecordedCopy:
    """Source and target."""

    uses: tuple[Use, Use]


@dataclass(frozen=True)
class RecordedWrite:
    """Bytes for a range that earlier commands of the tape still use; only outside a plan."""

    uses: tuple[Use]
    data: bytes


Recorded: TypeAlias = RecordedLaunch | RecordedClear | RecordedCopy | RecordedWrite


@dataclass(frozen=True)
class Prepared:
    """A kernel at given sizes: made once, used by every launch of it."""

    kernel: Kernel
    program: Program
    sizes: tuple[int, ...]
    reads: tuple[bool, ...]
    groups: tuple[int, int, int]


class Tape:
    """Commands in order, and where backwards begin among them. Keeps the blocks that they name."""

    def __init__(self, pool: Pool) -> None:
        self.commands: list[Recorded] = []
        self.turns: list[int] = []
        self.flops = 0
        self.held: dict[int, Block] = {}
        self._pool = pool
        self._finalizer = weakref.finalize(self, _drop_all, pool, self.held)
        self._finalizer.atexit = False

    def append(self, command: Recorded) -> None:
        """Appends a command and holds its blocks."""
        self.commands.append(command)
        for use in command.uses:
            if id(use.block) not in self.held:
                self.held[id(use.block)] = use.block
                self._pool.hold(use.block)
            if use.writes:
                use.block.written = True

    def names(self, block: Block) -> bool:
        """Whether some command uses the block."""
        return id(block) in self.held

    def let_go(self) -> None:
        """Stops holding the blocks."""
        self._finalizer()

    def programs(self) -> Iterator[Program]:
        """Each launch's program; equal ones come up again."""
        return (command.program for command in self.commands
                if isinstance(command, RecordedLaunch))


def _drop_all(pool: Pool, held: dict[int, Block]) -> None:
    blocks = list(held.values())
    held.clear()
    pool.drop(blocks)


class Recorder:
    """Prepares and checks launches for one adapter."""

    def __init__(self, info: AdapterInfo) -> None:
        self._info = info
        self._prepared: dict[tuple[object, ...], Prepared] = {}

    def prepare(self, name: str, sizes: Mapping[str, Number],
                consts: Mapping[str, Number]) -> Prepared:
        """The kernel's program, binding sizes and groups for these sizes.

        Raises:
            KernelError: unknown kernel, sizes that are missing or of the wrong kind, a feature
                that this adapter does not have.
            OutOfMemory: more than its limits allow.
        """
        key = (name, *sorted(sizes.items()), None, *sorted(consts.items()))
        prepared = self._prepared.get(key)
        if prepared is None:
            prepared = self._prepare(load_kernel(name), sizes, consts)
            self._prepared[key] = prepared
        return prepared

    def _prepare(self, kernel: Kernel, sizes: Mapping[str, Number],
                 consts: Mapping[str, Number]) -> Prepared:
        values = _check_sizes(kernel, sizes)
        label = label_of(kernel.name, values | dict(consts))
        missing = [need for need in kernel.needs if need not in self._info.features]
        if missing:
            raise KernelError(f"{label}: this adapter lacks a feature.",
                              expected=", ".join(kernel.needs),
                              received=", ".join(sorted(self._info.features)) or "none")
        byte_sizes = tuple(kernel.binding_bytes(values | dict(consts)).values())
        groups = kernel.groups(values | dict(consts))
        self.check_limits(kernel, label, byte_sizes, groups)
        reads = tuple(binding.access == "read" or binding.updated
                      or (binding.accumulate and values.get("ACCUMULATE") == 1)
                      for binding in kernel.bindings)
        program = Program(key=label, name=kernel.name, code=kernel.compose(consts),
                          constants={name: float(value) for name, value in values.items()},
                          consts=dict(consts),
                          access=tuple(binding.access for binding in kernel.bindings),
                          label=label)
        return Prepared(kernel, program, byte_sizes, reads, groups)

    def check_limits(self, kernel: Kernel, label: str, byte_sizes: Sequence[int],
                     groups: tuple[int, int, int]) -> None:
        """Raises OutOfMemory for more workgroups, or a larger binding, than the adapter takes."""
        limits = self._info.limits
        most = limits["maxComputeWorkgroupsPerDimension"]
        if max(groups) > most:
            raise OutOfMemory(f"{label}: too many workgroups for this adapter.",
                              expected=f"at most {most} in each dimension",
                              received=f"{groups}", remedy="Use a smaller batch or context.")
        most = limits["maxStorageBuffersPerShaderStage"]
        if len(byte_sizes) > most:
            raise KernelError(f"{label}: too many bindings for this adapter.",
                              expected=f"at most {most}", received=f"{len(byte_sizes)}")
        most = limits["maxStorageBufferBindingSize"]
        for binding, size in zip(kernel.bindings, byte_sizes, strict=True):
            if size > most:
                raise OutOfMemory(f"{label}: {binding.name} is larger than this adapter can bind.",
                                  expected=f"at most {most} bytes", received=f"{size} bytes",
                                  remedy="Use a smaller batch, context or vocabulary.")

    def bind(self, prepared: Prepared, regions: Mapping[str, Region],
             tape: Tape) -> RecordedLaunch:
        """Checks every region against its binding and makes the launch.

        Raises:
            KernelError: with the kernel, the binding, what was expected and what came.
        """
        kernel, label = prepared.kernel, prepared.program.label
        expected = [binding.name for binding in kernel.bindings]
        if set(regions) != set(expected):
            raise KernelError(f"{label}: the bindings given are not those of the header.",
                              expected=", ".join(expected), received=", ".join(regions) or "none")
        uses = []
        for binding, size, reads in zip(kernel.bindings, prepared.sizes, prepared.reads,
                                        strict=True):
            region = regions[binding.name]
            what = f"{label}: binding {binding.name}"
            _check_region(what, region, size)
            block = region.storage.block
            check_usable(what, block, tape, reads)
            uses.append(Use(block, region.offset, size, reads, binding.access == "read_write"))
        _check_aliasing(label, expected, uses)
        return RecordedLaunch(prepared.program, tuple(uses), prepared.groups)


def label_of(name: str, values: Mapping[str, Number]) -> str:
    """A launch's label: kernel and sizes.

    Example:
        >>> label_of("add", {"N": 3})
        'add(N=3)'
    """
    return f"{name}({', '.join(f'{key}={value}' for key, value in values.items())})"


def _check_sizes(kernel: Kernel, sizes: Mapping[str, Number]) -> dict[str, Number]:
    expected = [size.name for size in kernel.sizes]
    if set(expected) != set(sizes):
        raise KernelError(f"{kernel.name}: the sizes given are not those of the header.",
                          expected=", ".join(expected) or "none",
                          received=", ".join(sizes) or "none")
    values: dict[str, Number] = {}
    for size in kernel.sizes:
        value = sizes[size.name]
        if size.dtype == "f32":
            values[size.name] = float(value)
            continue
        try:
            values[size.name] = operator.index(value)  # type: ignore[arg-type]
        except TypeError as error:
            raise KernelError(f"{kernel.name}: size {size.name} must be a whole number.",
                              expected=size.dtype, received=repr(value)) from error
    return values


def _check_region(what: str, region: Region, size: int) -> None:
    if region.size != size:
        raise KernelError(f"{what} has the wrong number of bytes.", expected=f"{size}",
                          received=f"{region.size} ({region.storage.label})")
    if region.offset % ALIGNMENT or region.offset + size > region.storage.size:
        raise KernelError(f"{what} does not lie well in {region.storage.label}.",
                          expected=f"an offset that is a multiple of {ALIGNMENT}, "
                                   f"within {region.storage.size} bytes",
                          received=f"bytes {region.offset} to {region.offset + size}")


def check_usable(what: str, block: Block, tape: Tape, reads: bool) -> None:
    """Refuses temporaries of another plan, and reads of what nobody wrote."""
    if block.buffer is None and block.tape is not None and block.tape is not tape:
        raise KernelError(f"{what} is a temporary of a plan, which reuses its memory.",
                          received=block.label,
                          remedy="Name it among the outputs when the tape is compiled.")
    if reads and not block.written:
        raise KernelError(f"{what} is read before anything was written to it.",
                          received=block.label)


def recorded_clear(region: Region, tape: Tape) -> RecordedClear:
    """A clear, checked."""
    block = region.storage.block
    check_usable("clear", block, tape, False)
    return RecordedClear((Use(block, region.offset, region.size, False, True),))


def recorded_copy(source: Region, target: Region, tape: Tape) -> RecordedCopy:
    """A copy, checked. WebGPU copies only between different buffers."""
    if source.size != target.size or source.storage is target.storage:
        raise KernelError("copy: source and target do not fit together.",
                          expected=f"{source.size} bytes in another storage",
                          received=f"{target.size} bytes in {target.storage.label}")
    blocks = source.storage.block, target.storage.block
    check_usable("copy: the source", blocks[0], tape, True)
    check_usable("copy: the target", blocks[1], tape, False)
    return RecordedCopy((Use(blocks[0], source.offset, source.size, True, False),
                         Use(blocks[1], target.offset, target.size, False, True)))


def _check_aliasing(label: str, names: Sequence[str], uses: Sequence[Use]) -> None:
    """No buffer both read-only and writable in one dispatch, no overlapping writable ranges."""
    for i, first in enumerate(uses):
        for j in range(i + 1, len(uses)):
            second = uses[j]
            if first.block is not second.block or not (first.writes or second.writes):
                continue
            if first.writes and second.writes and not first.overlaps(second):
                continue
            raise KernelError(
                f"{label}: {names[i]} and {names[j]} share the buffer {first.block.label}.",
                expected="different buffers where one of them is written",
                remedy="Write the result to a new temporary.")
