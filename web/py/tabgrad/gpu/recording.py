"""What `Device.recording` gives: a tape, and the way from it to a plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from tabgrad.gpu.plan import Plan
from tabgrad.gpu.recorder import Tape
from tabgrad.gpu.storage import Region

Progress: TypeAlias = Callable[[int, int], None]
Compile: TypeAlias = Callable[[Tape, Sequence[Region], str, Progress | None], Awaitable[Plan]]


class Recording:
    """The tape of the launches made inside one `with device.recording()` block."""

    def __init__(self, tape: Tape, compile_tape: Compile) -> None:
        self.tape = tape
        self._compile = compile_tape

    async def compile(self, outputs: Sequence[Region] = (), label: str = "plan",
                      progress: Progress | None = None) -> Plan:
        """Makes pipelines and bind groups, and places every buffer.

        Args:
            outputs: temporaries (or storage) that keep their contents after each replay.
            label: names the plan in errors.
            progress: called with (programs ready, all programs).

        Raises:
            KernelError: the GPU refuses something; named with its kernel and sizes.
        """
        try:
            return await self._compile(self.tape, outputs, label, progress)
        except BaseException:
            # A tape and its temporaries name each other: nothing else would free what it holds.
            self.tape.let_go()
            raise
