"""What `Device.recording` gives: a tape, and the way from it to a plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from tabgrad.gpu.plan import Plan
from tabgrad.gpu.recorder import Tape
from tabgrad.gpu.storage import Region
from tabgrad.platform.gpu_protocol import Program

Progress: TypeAlias = Callable[[int, int], None]
Compile: TypeAlias = Callable[[Tape, Sequence[Region], str, Progress | None], Awaitable[Plan]]
SelfTest: TypeAlias = Callable[[Sequence[Program]], Awaitable[None]]
"""Raises KernelError when one of the programs' kernels computes wrongly on this adapter."""


class Recording:
    """The tape of the launches made inside one `with device.recording()` block."""

    def __init__(self, tape: Tape, compile_tape: Compile,
                 self_test: SelfTest | None = None) -> None:
        self.tape = tape
        self._compile = compile_tape
        self._self_test = self_test

    async def compile(self, outputs: Sequence[Region] = (), label: str = "plan",
                      progress: Progress | None = None, tested: bool = True) -> Plan:
        """Tests the kernels, makes pipelines and bind groups, and places every buffer.

        Args:
            outputs: temporaries (or storage) that keep their contents after each replay.
            label: names the plan in errors.
            progress: called with (programs ready, all programs).
            tested: False for plans whose numbers are compared with others, wrong or not.

        Raises:
            KernelError: the GPU refuses something, or computes it wrongly; names the kernel.
        """
        try:
            if self._self_test is not None and tested:
                await self._self_test(list(self.tape.programs()))
            return await self._compile(self.tape, outputs, label, progress)
        except BaseException:
            # A tape and its temporaries name each other: nothing else would free what it holds.
            self.tape.let_go()
            raise
