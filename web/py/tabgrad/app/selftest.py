"""The self-test: the kernels that a plan is made of, against their oracles, on this adapter.

A wrong kernel does not crash; it trains a model that writes fluent nonsense. So each kernel is run
on this adapter before a plan that launches it exists: those of the presets at the start, those that
write with a checkpoint when it is loaded, those that read when the first text is read, those of a
fine-tune when it begins. A pass is remembered for this adapter and this very code; an update of
either is tested anew.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from tabgrad.errors import KernelError, StorageError
from tabgrad.gpu.conformance import check_programs
from tabgrad.gpu.counting_gpu import CountingDevice
from tabgrad.gpu.device import Device, use_device
from tabgrad.models.decoder import Decoder
from tabgrad.models.recipe import PRESETS, Recipe
from tabgrad.optim.adamw import AdamW
from tabgrad.optim.optimizer import SCALARS
from tabgrad.platform import Files
from tabgrad.platform.gpu_protocol import Program
from tabgrad.tensor import ITEM_BYTES, Tensor

FILE = "selftest.json"
_BATCH, _CONTEXT = 2, 16
_go_on: ContextVar[Callable[[], None] | None] = ContextVar("go_on", default=None)


@contextmanager
def stoppable(go_on: Callable[[], None]) -> Iterator[None]:
    """Inside, a test that this task waits for asks `go_on` every few kernels; it raises to stop."""
    token = _go_on.set(go_on)
    try:
        yield
    finally:
        _go_on.reset(token)


class SelfTest:
    """Lets a device make plans only of kernels that compute right on it.

    Args:
        files: where passes are remembered.
        progress: called with (kernels done, kernels) of each test.
    """

    def __init__(self, files: Files, progress: Callable[[int, int], None]) -> None:
        self._files = files
        self._progress = progress
        self._passes: dict[str, set[str]] | None = None
        self._one_at_a_time = asyncio.Lock()

    def guard(self, device: Device) -> None:
        """From now on the device tests what its plans are made of; NumPy is the oracle itself."""
        if device.info.runtime == "numpy":
            return

        async def test(programs: Sequence[Program]) -> None:
            await self.require(device, programs)
        device.self_test = test

    async def require(self, device: Device, programs: Iterable[Program]) -> None:
        """Tests what has not passed yet on this adapter.

        Raises:
            KernelError: names the kernels that compute wrongly.
        """
        failed = await self.failed(device, programs, planned=True)
        if failed:
            raise KernelError(f"This GPU computes {', '.join(failed)} wrongly.",
                              expected="the numbers of the oracle on the CPU",
                              received=f"others, on {device.info.name or device.info.key}",
                              remedy="Update the browser and the graphics driver, or use another "
                                     "GPU. Nothing was computed with it.")

    async def failed(self, device: Device, programs: Iterable[Program], *,
                     planned: bool = False) -> list[str]:
        """Names of the kernels that compute wrongly on this adapter.

        Args:
            device: the adapter to test.
            programs: equal code is tested once, and never again after a pass.
            planned: as for `check_programs`.
        """
        async with self._one_at_a_time:
            if self._passes is None:
                self._passes = await _read(self._files)
            passed = self._passes.setdefault(device.info.key, set())
            # A plan launches each many times.
            unique = {program.key: program for program in programs}
            missing = [one for one in unique.values() if fingerprint(one) not in passed]
            if not missing:
                return []
            try:
                results = await check_programs(device, missing, self._tell, planned=planned)
            finally:
                device.trim()
            failed = {result.kernel for result in results if not result.passed}
            passed |= {fingerprint(one) for one in missing if one.name not in failed}
            await _write(self._files, self._passes)
            return sorted(failed)

    def _tell(self, done: int, total: int) -> None:
        go_on = _go_on.get()
        if go_on is not None:
            go_on()
        self._progress(done, total)


def fingerprint(program: Program) -> str:
    """Equal for equal code: a kernel's source with its consts and all that it uses."""
    return hashlib.sha256(f"{program.name}\n{program.code}".encode()).hexdigest()[:32]


def preset_programs(device: Device) -> list[Program]:
    """The programs that training the presets needs."""
    return [program for recipe in PRESETS.values()
            for program in needed_programs(device, recipe)]


def needed_programs(device: Device, recipe: Recipe) -> list[Program]:
    """The programs of a small training step of a recipe, only recorded: nothing is run.

    On a device that only counts: no weights are drawn, which would take seconds of every start.
    """
    before = use_device(CountingDevice(device.info))
    try:
        decoder = Decoder(recipe, seed=0)
        optimizer = AdamW(decoder.arena)
        here = decoder.device
        scalars = here.allocate(SCALARS * ITEM_BYTES, "scalars").region
        ids, targets = (
            Tensor((_BATCH, _CONTEXT), "uint32",
                   here.allocate(_BATCH * _CONTEXT * ITEM_BYTES, "ids").region) for _ in range(2))
        with here.recording() as recording:
            decoder.arena.clear_gradients()
            decoder.loss(ids, targets).backward()
            optimizer.record_update(scalars)
        programs = list(recording.tape.programs())
        recording.tape.let_go()
    finally:
        use_device(before)
    return programs


async def _read(files: Files) -> dict[str, set[str]]:
    """Passes by adapter; none when nothing readable is there, which costs one more test."""
    try:
        table = json.loads(await files.read(FILE)) if await files.exists(FILE) else {}
        return {adapter: {str(code) for code in codes} for adapter, codes in table.items()
                if isinstance(codes, list)}
    except (StorageError, ValueError, AttributeError):
        return {}


async def _write(files: Files, passes: dict[str, set[str]]) -> None:
    draft = f"{FILE}.new"
    table = {adapter: sorted(codes) for adapter, codes in passes.items()}
    try:
        await files.write(draft, [json.dumps(table).encode()])
        await files.replace(draft, FILE)
    except StorageError:
        return  # a full disk costs one more test next time, and is said when a run is saved
