"""Runs a tape once: places its temporaries, submits its commands in order."""

from __future__ import annotations

from collections.abc import Awaitable

from tabgrad.gpu.memory import place
from tabgrad.gpu.plan import lifetimes, to_commands
from tabgrad.gpu.recorder import Recorded, RecordedWrite, Tape
from tabgrad.gpu.storage import Pool
from tabgrad.platform.gpu_protocol import Gpu


def flush_tape(gpu: Gpu, pool: Pool, tape: Tape) -> None:
    """Submits a tape whose programs are compiled; its bind groups are used once.

    Blocks that nobody can name any more share buffers by liveness and give them back at once (the
    queue's order keeps that safe). The others get a buffer of their own.
    """
    released = {key: block for key, block in tape.held.items()
                if block.buffer is None and block.released}
    for block in tape.held.values():
        if not block.released:
            pool.materialize(block)
    placement = place(lifetimes(tape, released))
    slots = [pool.take(size, f"scratch {index}") for index, size in enumerate(placement.sizes)]
    buffers = {key: slots[slot][0]
               for key, slot in zip(released, placement.slots, strict=True)}
    run: list[Recorded] = []
    for command in tape.commands:
        if isinstance(command, RecordedWrite):
            _submit(gpu, run, buffers)
            run = []
            use = command.uses[0]
            buffer = buffers.get(id(use.block), use.block.buffer)
            assert buffer is not None
            gpu.write(buffer, use.offset, command.data)
        else:
            run.append(command)
    _submit(gpu, run, buffers)
    for buffer, capacity in slots:
        pool.give(buffer, capacity)


def _submit(gpu: Gpu, commands: list[Recorded], buffers: dict[int, int]) -> None:
    if commands:
        plan = gpu.create_plan(to_commands(commands, buffers), "flush")
        _forget(gpu.replay([plan], None, b"", 1, None))
        gpu.destroy_plan(plan)


def _forget(result: Awaitable[bytes]) -> None:
    """Nobody waits for a flush: the next read does, and raises what went wrong."""
    del result
