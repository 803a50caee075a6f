"""A plan: a tape whose buffers are placed and whose bind groups exist, ready to be replayed."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tabgrad.errors import KernelError
from tabgrad.gpu.memory import Lifetime, place
from tabgrad.gpu.recorder import (
    Recorded,
    RecordedClear,
    RecordedCopy,
    RecordedLaunch,
    Tape,
    Use,
)
from tabgrad.gpu.storage import Block, Pool, Region
from tabgrad.platform.gpu_protocol import Clear, Command, Copy, Gpu, Launch


@dataclass(frozen=True)
class LaunchInfo:
    """One row of a plan's listing: label, workgroups, bytes bound."""

    label: str
    groups: tuple[int, int, int]
    bytes: int


class Slots:
    """The buffers of temporaries. They belong to the device; its plans share them."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._buffers: list[int] = []
        self._sizes: list[int] = []
        self._users: list[int] = []
        self.closed = False

    @property
    def bytes(self) -> int:
        """Bytes of all slots."""
        return sum(self._sizes)

    def place(self, lifetimes: Sequence[Lifetime]) -> tuple[list[int], set[int], int]:
        """Each temporary's buffer, the buffers that its plan uses (give them to `leave`), and the
        bytes that it would use alone."""
        placement = place(lifetimes, self._sizes)
        try:
            for slot in range(len(self._sizes), len(placement.sizes)):
                size = placement.sizes[slot]
                self._buffers.append(self._gpu.create_buffer(size, f"slot {slot}"))
                self._sizes.append(size)
                self._users.append(0)
        except BaseException:
            self._sweep()
            raise
        for slot in set(placement.slots):
            self._users[slot] += 1
        buffers = [self._buffers[slot] for slot in placement.slots]
        return buffers, set(buffers), placement.needed

    def leave(self, buffers: set[int]) -> None:
        """A plan no longer uses them; those without any plan are destroyed."""
        if self.closed:
            return
        for buffer in buffers:
            self._users[self._buffers.index(buffer)] -= 1
        self._sweep()

    def _sweep(self) -> None:
        """Destroys the slots without any plan."""
        for slot in reversed(range(len(self._users))):
            if self._users[slot] == 0:
                self._gpu.destroy_buffer(self._buffers[slot])
                del self._buffers[slot], self._sizes[slot], self._users[slot]


def lifetimes(tape: Tape, blocks: Mapping[int, Block]) -> list[Lifetime]:
    """First to last command that uses each of the blocks (given by `id`), in the same order."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for index, command in enumerate(tape.commands):
        for use in command.uses:
            key = id(use.block)
            if key in blocks:
                first.setdefault(key, index)
                last[key] = index
    return [Lifetime(block.size, first[key], last[key]) for key, block in blocks.items()]


def to_commands(recorded: Sequence[Recorded], buffers: Mapping[int, int]) -> list[Command]:
    """A tape's commands with buffers: those given for blocks (by `id`), else the blocks' own."""

    def range_of(use: Use) -> tuple[int, int, int]:
        buffer = buffers.get(id(use.block), use.block.buffer)
        assert buffer is not None, f"{use.block.label} has no buffer"
        return buffer, use.offset, use.size

    commands: list[Command] = []
    for command in recorded:
        ranges = tuple(range_of(use) for use in command.uses)
        if isinstance(command, RecordedLaunch):
            commands.append(Launch(command.program.key, ranges, command.groups,
                                   command.program.label))
        elif isinstance(command, RecordedClear):
            commands.append(Clear(*ranges[0]))
        elif isinstance(command, RecordedCopy):
            (source, source_offset, size), (target, target_offset, _) = ranges
            commands.append(Copy(source, source_offset, target, target_offset, size))
        else:
            raise KernelError("A plan cannot hold a write from the CPU.",
                              remedy="Write to persistent storage before the recording.")
    return commands


def make_plan(gpu: Gpu, pool: Pool, slots: Slots, tape: Tape, outputs: Sequence[Region],
              label: str) -> Plan:
    """A plan of a tape whose programs are compiled.

    Outputs (zeros until the first replay) and what lives outside the tape get buffers of their
    own; the tape's own temporaries get slots.
    """
    for region in outputs:
        pool.materialize(region.storage.block, zeroed=True)
    temporaries: dict[int, Block] = {}
    for key, block in tape.held.items():
        if block.buffer is None and block.tape is tape:
            temporaries[key] = block
        else:
            pool.materialize(block)
    return Plan(gpu, slots, tape, outputs, temporaries, label)


class Plan:
    """Made by `Tape.compile`; replayed by `Device.replay`. Holds the buffers that it names.

    Attributes:
        label: what it is.
        outputs: regions that keep their contents after a replay.
        dispatches: launches in one step.
        kernels: their kernels' names, without repeats, sorted.
        flops: floating-point operations of one step, as the ops counted them.
        slot_bytes: bytes of slots that its temporaries need, if no other plan lends it some.
        saved_bytes: those of temporaries that a backward still reads when it begins; the most,
            where there are several.
        launches: a listing for people: label, workgroups, bytes.
    """

    def __init__(self, gpu: Gpu, slots: Slots, tape: Tape, outputs: Sequence[Region],
                 temporaries: Mapping[int, Block], label: str) -> None:
        self.label = label
        self.outputs = tuple(outputs)
        self.flops = tape.flops
        launches = [command for command in tape.commands if isinstance(command, RecordedLaunch)]
        self.launches = tuple(LaunchInfo(launch.program.label, launch.groups,
                                         sum(use.size for use in launch.uses))
                              for launch in launches)
        self.dispatches = len(launches)
        self.kernels = tuple(sorted({launch.program.name for launch in launches}))
        lives = lifetimes(tape, temporaries)
        self.saved_bytes = max((sum(life.size for life in lives if life.first < turn <= life.last)
                                for turn in tape.turns), default=0)
        placed, used, self.slot_bytes = slots.place(lives)
        try:
            commands = to_commands(tape.commands, dict(zip(temporaries, placed, strict=True)))
            self.id = gpu.create_plan(commands, label)
        except BaseException:
            slots.leave(used)
            raise
        self._finalizer = weakref.finalize(self, _release, gpu, slots, used, self.id, tape)
        self._finalizer.atexit = False

    @property
    def released(self) -> bool:
        """Whether it can no longer be replayed."""
        return not self._finalizer.alive

    def release(self) -> None:
        """Frees what only this plan needs; a second call does nothing."""
        self._finalizer()


def _release(gpu: Gpu, slots: Slots, used: set[int], plan: int, tape: Tape) -> None:
    if not slots.closed:
        gpu.destroy_plan(plan)
        slots.leave(used)
    tape.let_go()
